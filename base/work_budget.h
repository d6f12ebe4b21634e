// SPDX-License-Identifier: GPL-2.0-only
// WorkBudget: how much of a long piece of work one unit may do. Work is done in steps (an undo
// record, or a page where one record stands for many) and can stop after any of them, so neither a
// shutdown nor a kill waits for the whole (docs/contracts/interruption.md). Not thread-safe, except
// for the flag, which any thread may set.
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

  /// Everything, unless a shutdown or a kill intervenes. Short work is finished even then.
  static WorkBudget UntilInterrupted(ShutdownSign sign, const std::atomic<bool>* interrupted) {
    WorkBudget budget(UINT64_MAX);
    budget.sign_ = sign;
    budget.interrupted_ = interrupted;
    return budget;
  }

  /// Before each step: false if it must not be taken.
  [[nodiscard]] bool Spend() {
    if (exhausted()) return false;
    --steps_;
    if (steps_ < UINT64_MAX - kStepsInAnyCase && IsInterrupted()) steps_ = 0;
    return true;
  }
  [[nodiscard]] bool exhausted() const {
    return steps_ == 0 || (stop_ != nullptr && stop_->load(std::memory_order_relaxed));
  }
  /// Whether work that ended with `status` ran out of budget: it can resume where it stopped.
  [[nodiscard]] bool Left(const Status& status) const {
    return status.Is(Code::kBusy) && exhausted();
  }

 private:
  /// Granted to interrupted work: a second on a disk that takes 10 ms for a page.
  static constexpr uint64_t kStepsInAnyCase = 100;

  [[nodiscard]] bool IsInterrupted() const {
    return (sign_ != nullptr && sign_()) ||
           (interrupted_ != nullptr && interrupted_->load(std::memory_order_relaxed));
  }

  uint64_t steps_;
  ShutdownSign sign_ = nullptr;
  const std::atomic<bool>* interrupted_ = nullptr;  ///< its session is killed
  const std::atomic<bool>* const stop_;             ///< set when the engine stops
};

}  // namespace rowan
