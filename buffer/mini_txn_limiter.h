// SPDX-License-Identifier: GPL-2.0-only
// MiniTxnLimiter: in a tiny pool, bounds how many mini-transactions hold latches at once, so that
// they cannot together latch every frame and wait for each other. Off (and free) in pools of normal
// size. Follows the pool when it is resized: one that entered with the gate off leaves likewise.
// Nested mini-transactions of a thread pass; every wait ends after a while, so the gate itself
// cannot deadlock. Thread safety: all members from any thread; Leave by the thread that entered.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>

#include "base/assertions.h"
#include "base/mutex.h"

namespace rowan {

class MiniTxnLimiter {
 public:
  explicit MiniTxnLimiter(uint32_t frames) : limit_(LimitFor(frames)) {}

  /// From now on the pool has this many frames.
  void Resize(uint32_t frames) {
    {
      const MutexLock guard(&mutex_);
      limit_.store(LimitFor(frames), std::memory_order_relaxed);
    }
    left_.NotifyAll();
  }

  void Enter() {
    if (depth_ > 0) {
      ++depth_;
      return;
    }
    if (limit_.load(std::memory_order_relaxed) == 0) return;
    ++depth_;
    const auto end = std::chrono::steady_clock::now() + std::chrono::seconds(2);
    const MutexLock lock(&mutex_);
    while (IsFullLocked() && left_.WaitUntil(&mutex_, end)) {
    }
    ++inside_;
  }

  void Leave() {
    if (depth_ == 0) return;  // entered with the gate off
    if (--depth_ > 0) return;
    {
      const MutexLock guard(&mutex_);
      ROWAN_DCHECK(inside_ != 0);
      --inside_;
    }
    left_.NotifyOne();
  }

 private:
  /// Above this, thousands of sessions would have to be inside at once to use up the frames.
  static constexpr uint32_t kTinyPoolFrames = 2048;
  /// A split with its undo and space pages holds about this many.
  static constexpr uint32_t kFramesPerMiniTxn = 12;

  /// 0: off.
  static uint32_t LimitFor(uint32_t frames) {
    return frames < kTinyPoolFrames ? std::max<uint32_t>(2, frames / kFramesPerMiniTxn) : 0;
  }

  [[nodiscard]] bool IsFullLocked() const ROWAN_REQUIRES(mutex_) {
    const uint32_t limit = limit_.load(std::memory_order_relaxed);
    return limit != 0 && inside_ >= limit;
  }

  /// Counted ones open in this thread. initial-exec, as in counters.cc.
  static inline thread_local constinit uint32_t depth_ __attribute__((tls_model("initial-exec"))) =
      0;

  std::atomic<uint32_t> limit_;  // stored under mutex_, read without it by Enter
  Mutex mutex_{LatchRank::kMiniTxnLimiter};
  Condition left_;
  uint32_t inside_ ROWAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace rowan
