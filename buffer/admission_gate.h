// SPDX-License-Identifier: GPL-2.0-only
// AdmissionGate: in a tiny pool, bounds how many mini-transactions hold latches at once, so that
// they do not latch every frame among them and wait for each other. Off (and free) in pools of
// normal size. Nested mini-transactions of a thread pass; a wait ends after a while in any case, so
// the gate itself cannot deadlock.
// Thread safety: all members from any thread; Leave by the thread that entered.
#pragma once

#include <algorithm>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <mutex>

namespace rowan {

class AdmissionGate {
 public:
  explicit AdmissionGate(uint32_t frames)
      : limit_(frames < kTinyPoolFrames ? std::max<uint32_t>(2, frames / kFramesPerMiniTxn) : 0) {}

  void Enter() {
    if (limit_ == 0) return;
    if (depth_++ > 0) return;
    std::unique_lock lock(mutex_);
    left_.wait_for(lock, std::chrono::seconds(2), [this] { return inside_ < limit_; });
    ++inside_;
  }

  void Leave() {
    if (limit_ == 0) return;
    if (--depth_ > 0) return;
    {
      std::lock_guard guard(mutex_);
      --inside_;
    }
    left_.notify_one();
  }

 private:
  /// Above this, thousands of sessions would have to be inside at once to use up the frames.
  static constexpr uint32_t kTinyPoolFrames = 2048;
  /// A split with its undo and space pages holds about this many.
  static constexpr uint32_t kFramesPerMiniTxn = 12;

  static inline thread_local uint32_t depth_ = 0;  ///< mini-transactions open in this thread

  const uint32_t limit_;
  std::mutex mutex_;
  std::condition_variable left_;
  uint32_t inside_ = 0;  // guarded by mutex_
};

}  // namespace rowan
