// SPDX-License-Identifier: GPL-2.0-only
// ClockHand: hands out the frames that eviction examines, round after round. Each thread takes a
// run of neighbouring frames with one change of the shared counter and keeps the rest of it for its
// next eviction: so no frame is skipped, and threads do not contend for the counter at every frame.
// A thread that evicts seldom comes back to an old run; that only moves a few frames out of their
// turn.
// Thread safety: all members from any thread.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace rowan {

class ClockHand {
 public:
  /// The next frame for the calling thread to examine, in a pool of `frames`.
  uint32_t Step(uint32_t frames) {
    thread_local Run run;
    if (run.hand != this || run.next == run.end) {
      const uint64_t taken = RunFrames(frames);
      run.hand = this;
      run.next = next_.fetch_add(taken, std::memory_order_relaxed);
      run.end = run.next + taken;
    }
    return static_cast<uint32_t>(run.next++ % frames);
  }

  /// Where the next run begins: about what will be examined next.
  [[nodiscard]] uint64_t position() const { return next_.load(std::memory_order_relaxed); }

  /// One in a small pool, where a few runs would be a noticeable part of all frames.
  static uint32_t RunFrames(uint32_t frames) {
    return std::clamp(frames / kRunsMin, uint32_t{1}, kRunFramesMax);
  }

 private:
  struct Run {
    const ClockHand* hand = nullptr;  ///< never dereferenced: it may belong to a former pool
    uint64_t next = 0;
    uint64_t end = 0;
  };
  static constexpr uint32_t kRunsMin = 1024;
  static constexpr uint32_t kRunFramesMax = 16;

  /// Its own cache line: each fix reads the neighbouring members.
  alignas(64) std::atomic<uint64_t> next_{0};
};

}  // namespace rowan
