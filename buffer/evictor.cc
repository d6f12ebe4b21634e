// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/evictor.h"

#include <algorithm>
#include <chrono>
#include <cstdint>

#include "buffer/eviction.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kEvictTick{50};
/// Frames freed per unit of work.
constexpr uint32_t kBatch = 64;

}  // namespace

Evictor::Evictor(FrameTable* frames, DeadSpaces* dead_spaces, Cleaners* cleaners)
    : frames_(frames),
      dead_spaces_(dead_spaces),
      cleaners_(cleaners),
      thread_("evict", kEvictTick, [this] { return RunUnit(); }) {}

ThreadLoop::Next Evictor::RunUnit() {
  const bool forgetting = dead_spaces_->ForgetSome();
  const uint32_t frames = frames_->limit();
  const uint32_t wanted = FreeFramesHigh(frames);
  uint64_t dirty_seen = 0;
  uint32_t freed = 0;
  while (freed < kBatch && frames_->free_frames() < wanted) {
    Frame* frame = EvictClean(frames_, std::min<uint64_t>(4 * uint64_t{frames}, 4096), &dirty_seen);
    if (frame == nullptr) break;
    frames_->Free(frame);
    ++freed;
  }
  if (dirty_seen != 0) {
    frames_->WantCleanFrames();
    cleaners_->Wake();
  }
  const bool more = forgetting || (freed == kBatch && frames_->free_frames() < wanted);
  return more ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

}  // namespace rowan
