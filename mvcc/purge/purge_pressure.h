// SPDX-License-Identifier: GPL-2.0-only
// PurgePressure: keeps writers from outrunning purge for long. The backlog is the number of undo
// records that purge could process and has not; what an old snapshot keeps does not count, because
// waiting would not help. While it is above the limit and grows, each page of undo that a
// transaction fills costs it a delay that doubles; while it shrinks the delay fades. So writers
// settle at the rate of purge, each slowed by what it writes, and statements that write little
// hardly notice.
// Thread safety: Update by one thread at a time, the others by any.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "mvcc/undo/undo_streams.h"

namespace rowan {

class PurgePressure {
 public:
  /// `lag_max`: undo records; 0: writers are never delayed. `streams` may be null: nothing is
  /// written.
  PurgePressure(UndoStreams* streams, uint64_t lag_max) : streams_(streams), lag_max_(lag_max) {}

  void SetLagMax(uint64_t records) { lag_max_.store(records, std::memory_order_relaxed); }
  /// Looks at the backlog now and then, and sets the delay.
  void Update(Csn horizon, uint64_t now_nanos);

  /// At the last look.
  [[nodiscard]] uint64_t lag() const { return lag_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t blocked() const { return blocked_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t kept() const { return kept_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint32_t delay_us() const { return delay_us_.load(std::memory_order_relaxed); }

 private:
  UndoStreams* const streams_;
  std::atomic<uint64_t> lag_max_;
  std::atomic<uint64_t> lag_{0};
  std::atomic<uint64_t> blocked_{0};
  std::atomic<uint64_t> kept_{0};
  std::atomic<uint32_t> delay_us_{0};
  uint64_t looked_nanos_ = 0;  ///< Update's
};

}  // namespace rowan
