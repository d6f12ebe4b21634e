// SPDX-License-Identifier: GPL-2.0-only
// WorkBudget: how much of a long piece of background work one unit may do. Work is done in steps
// (an undo record each) and can be left behind any of them, so that a shutdown never waits for a
// whole transaction. Not thread-safe, except the stop flag, which anybody may set.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

class WorkBudget {
 public:
  explicit WorkBudget(uint64_t steps, const std::atomic<bool>* stop = nullptr)
      : steps_(steps), stop_(stop) {}

  /// Before each step: false if it must not be taken any more.
  [[nodiscard]] bool Spend() {
    if (exhausted()) return false;
    --steps_;
    return true;
  }
  [[nodiscard]] bool exhausted() const {
    return steps_ == 0 || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
  }

 private:
  uint64_t steps_;
  const std::atomic<bool>* const stop_;  ///< set by whoever stops the engine
};

}  // namespace rowan
