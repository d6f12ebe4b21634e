// SPDX-License-Identifier: GPL-2.0-only
// What an operator should look at first: what is stuck, slow or full, why, and what helps. Based on
// current figures and on counts since the previous report.
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

/// Concurrent reports share what was counted between them.
class CounterRates {
 public:
  CounterRates();
  /// Counts since the previous call, or the beginning.
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

/// A line for each problem, or one that says there is none.
std::string DescribeAttention(const Situation& now);
/// The counters that show the load.
std::string DescribeRates(const CounterDeltas& since);

}  // namespace rowan
