// SPDX-License-Identifier: GPL-2.0-only
#include "engine/read_meter.h"

namespace rowan {
namespace {

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

void AddToTotals(const StatementReads& read, StatementKind kind, CounterBatch* totals) {
  const KindCounters& counters = kCounters[static_cast<size_t>(kind)];
  const auto add = [totals](const ReadAmount& amount, Counter entries, Counter bytes) {
    if (amount.entries == 0) return;  // of no entries there are no bytes
    totals->Add(entries, amount.entries);
    totals->Add(bytes, amount.bytes);
  };
  add(read.examined, counters.examined_entries, counters.examined_bytes);
  add(read.returned, counters.returned_entries, counters.returned_bytes);
  add(read.co_located, Counter::kExaminedCoLocatedEntries, Counter::kExaminedCoLocatedBytes);
  add(read.index_only_fallback, Counter::kExaminedFallbackEntries, Counter::kExaminedFallbackBytes);
}

}  // namespace rowan
