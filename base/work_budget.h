// SPDX-License-Identifier: GPL-2.0-only
// WorkBudget: how much of a long piece of work one unit may do. Work is done in steps (an undo
// record, or a page where one record stands for many) and can be left behind any of them, so that
// neither a shutdown nor a kill waits for the whole (docs/contracts/interruption.md). Not
// thread-safe, except the flag, which anybody may set.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"

namespace rowan {

/// Whether the process is about to close the engine. Any thread; cheap.
using ShutdownSign = bool (*)();

class WorkBudget {
 public:
  explicit WorkBudget(uint64_t steps, const std::atomic<bool>* stop = nullptr)
      : steps_(steps), stop_(stop) {}

  /// Everything, unless a shutdown or a kill comes in between. What is short is done all the same.
  static WorkBudget UntilInterrupted(ShutdownSign sign, const std::atomic<bool>* interrupted) {
    WorkBudget budget(UINT64_MAX);
    budget.sign_ = sign;
    budget.interrupted_ = interrupted;
    return budget;
  }

  /// Before each step: false if it must not be taken any more.
  [[nodiscard]] bool Spend() {
    if (exhausted()) return false;
    --steps_;
    if (steps_ < UINT64_MAX - kStepsInAnyCase && IsInterrupted()) steps_ = 0;
    return true;
  }
  [[nodiscard]] bool exhausted() const {
    return steps_ == 0 || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
  }
  /// Work that ended with `status` was left for want of budget: it can go on where it stands.
  [[nodiscard]] bool Left(const Status& status) const {
    return status.Is(Code::kBusy) && exhausted();
  }

 private:
  /// Of work that is interrupted: a second on a disk that takes 10 ms for a page.
  static constexpr uint64_t kStepsInAnyCase = 100;

  [[nodiscard]] bool IsInterrupted() const {
    return (sign_ != nullptr && sign_()) ||
           (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed));
  }

  uint64_t steps_;
  ShutdownSign sign_ = nullptr;
  const std::atomic<bool>* interrupted_ = nullptr;  ///< its session is killed
  const std::atomic<bool>* const stop_;             ///< set by whoever stops the engine
};

}  // namespace rowan
