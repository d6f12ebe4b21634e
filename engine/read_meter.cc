// SPDX-License-Identifier: GPL-2.0-only
#include "engine/read_meter.h"

#include "base/counters.h"

namespace rowan {
namespace {

void AddAmount(const ReadAmount& amount, Counter entries, Counter bytes) {
  if (amount.entries != 0) AddCounter(entries, amount.entries);
  if (amount.bytes != 0) AddCounter(bytes, amount.bytes);
}

struct KindCounters {
  Counter examined_entries;
  Counter examined_bytes;
  Counter returned_entries;
  Counter returned_bytes;
};

constexpr KindCounters kCounters[] = {
    {Counter::kExaminedSingleTableEntries, Counter::kExaminedSingleTableBytes,
     Counter::kReturnedSingleTableEntries, Counter::kReturnedSingleTableBytes},
    {Counter::kExaminedJoinEntries, Counter::kExaminedJoinBytes, Counter::kReturnedJoinEntries,
     Counter::kReturnedJoinBytes},
    {Counter::kExaminedAggregationEntries, Counter::kExaminedAggregationBytes,
     Counter::kReturnedAggregationEntries, Counter::kReturnedAggregationBytes},
};

}  // namespace

void ReadMeter::Add(const ReadMeter& other) {
  for (size_t i = 0; i < kKinds; ++i) {
    examined[i] += other.examined[i];
    returned[i] += other.returned[i];
  }
  co_located += other.co_located;
  index_only_fallback += other.index_only_fallback;
}

void AddToTotals(const ReadMeter& read, StatementKind kind) {
  const auto i = static_cast<size_t>(kind);
  AddAmount(read.examined[i], kCounters[i].examined_entries, kCounters[i].examined_bytes);
  AddAmount(read.returned[i], kCounters[i].returned_entries, kCounters[i].returned_bytes);
  AddAmount(read.co_located, Counter::kExaminedCoLocatedEntries, Counter::kExaminedCoLocatedBytes);
  AddAmount(read.index_only_fallback, Counter::kExaminedFallbackEntries,
            Counter::kExaminedFallbackBytes);
}

}  // namespace rowan
