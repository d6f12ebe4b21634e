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
  totals->Add(counters.examined_entries, read.examined.entries);
  totals->Add(counters.examined_bytes, read.examined.bytes);
  totals->Add(counters.returned_entries, read.returned.entries);
  totals->Add(counters.returned_bytes, read.returned.bytes);
  totals->Add(Counter::kExaminedCoLocatedEntries, read.co_located.entries);
  totals->Add(Counter::kExaminedCoLocatedBytes, read.co_located.bytes);
  totals->Add(Counter::kExaminedFallbackEntries, read.index_only_fallback.entries);
  totals->Add(Counter::kExaminedFallbackBytes, read.index_only_fallback.bytes);
}

}  // namespace rowan
