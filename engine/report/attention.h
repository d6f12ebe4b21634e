// SPDX-License-Identifier: GPL-2.0-only
// What an operator should look at first: what is stuck, slow or full, why, and what helps. Judged
// by the figures of the moment and by what was counted since the report before.
// Thread safety: CounterRates all members; the rest are pure functions.
#pragma once

#include <array>
#include <atomic>
#include <string>

#include "base/counters.h"
#include "engine/report/figures.h"

namespace rowan {

/// Counted between two reports.
struct CounterDeltas {
  double seconds = 0;
  std::array<uint64_t, static_cast<size_t>(Counter::kCount)> counts{};

  [[nodiscard]] uint64_t of(Counter counter) const { return counts[static_cast<size_t>(counter)]; }
  [[nodiscard]] double PerSecond(Counter counter) const {
    return seconds <= 0 ? 0 : static_cast<double>(of(counter)) / seconds;
  }
};

/// Reports that come at the same time share what was counted between them.
class CounterRates {
 public:
  CounterRates();
  /// Since the call before, or the beginning.
  CounterDeltas Take();

 private:
  std::atomic<uint64_t> taken_at_nanos_;
  std::array<std::atomic<uint64_t>, static_cast<size_t>(Counter::kCount)> taken_{};
};

struct Situation {
  EngineFigures figures;
  CounterDeltas since;
  std::string oldest_reader;      ///< of the log; empty: none holds it
  uint64_t sync_p99_micros = 0;   ///< of the method in use, since the start
  uint64_t waiting_for_rows = 0;  ///< transactions
};

/// A line for each thing, or one that says there is nothing.
std::string DescribeAttention(const Situation& now);
/// The counters that tell the load.
std::string DescribeRates(const CounterDeltas& since);

}  // namespace rowan
