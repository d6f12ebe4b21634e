// SPDX-License-Identifier: GPL-2.0-only
// WorkBudget: how much of a long piece of work one unit may do. Work is done in steps (an undo
// record each) and can be left behind any of them, so that a shutdown never waits for a whole
// transaction. Not thread-safe, except the stop flag, which anybody may set.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

/// Whether the process is about to close the engine. Any thread; cheap.
using ShutdownSign = bool (*)();

class WorkBudget {
 public:
  explicit WorkBudget(uint64_t steps, const std::atomic<bool>* stop = nullptr)
      : steps_(steps), stop_(stop) {}

  /// Everything, unless a shutdown comes in between. What is short is done all the same.
  static WorkBudget UntilShutdown(ShutdownSign sign) {
    WorkBudget budget(UINT64_MAX);
    budget.sign_ = sign;
    return budget;
  }

  /// Before each step: false if it must not be taken any more.
  [[nodiscard]] bool Spend() {
    if (exhausted()) return false;
    --steps_;
    if (sign_ != nullptr && steps_ % kStepsBetweenLooks == 0 && sign_()) steps_ = 0;
    return true;
  }
  [[nodiscard]] bool exhausted() const {
    return steps_ == 0 || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
  }

 private:
  /// A few milliseconds of rollback.
  static constexpr uint64_t kStepsBetweenLooks = 1024;

  uint64_t steps_;
  ShutdownSign sign_ = nullptr;
  const std::atomic<bool>* const stop_;  ///< set by whoever stops the engine
};

}  // namespace rowan
