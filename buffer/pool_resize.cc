// SPDX-License-Identifier: GPL-2.0-only
// Changing the number of frames while the pool is in use. Growing commits more of the reserved
// address range. Shrinking lowers the limit first, so that frames behind it are retired instead of
// freed, then empties them one after the other.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/logging.h"
#include "buffer/pool_impl.h"

namespace rowan {
namespace {

/// How long a shrinking pool waits for frames that are in use all the time.
constexpr std::chrono::seconds kShrinkPatience{30};

}  // namespace

Status BufferPool::Resize(uint64_t pool_bytes) {
  PoolCore& core = impl_->core;
  const uint64_t frames = pool_bytes / core.page_size;
  if (frames < kPoolPagesMin) {
    return Status(Code::kInvalidArgument, "the buffer pool would be smaller than 16 pages");
  }
  if (frames > core.arena->frames_max()) {
    return Status(Code::kInvalidArgument, "the buffer pool would be larger than the memory");
  }
  const MutexLock guard(&impl_->flush_mutex);
  const auto wanted = static_cast<uint32_t>(frames);
  const uint32_t current = core.frame_limit.load(std::memory_order_acquire);
  if (wanted >= current) return impl_->GrowLocked(wanted);
  return impl_->ShrinkLocked(wanted);
}

Status BufferPool::Impl::GrowLocked(uint32_t frames) {
  const uint32_t ever = core.arena->frames_ever();
  core.EnlargeTable(frames);
  // Before the frames exist for the sweeps.
  checkpointer.NoteGrowth(ever, frames);
  const Status status = core.arena->Grow(frames);
  if (!status.ok()) return status;
  core.RaiseLimit(frames);
  gate.Resize(frames);
  return Status::Ok();
}

bool BufferPool::Impl::RetireFrame(Frame* frame) {
  if (frame->state.load(std::memory_order_acquire) == FrameState::kRetired) return true;
  if (core.TryTakeClean(frame)) core.Free(frame);
  return frame->state.load(std::memory_order_acquire) == FrameState::kRetired;
}

void BufferPool::Impl::RetireFreeFrames() {
  // Free frames behind the limit retire when they are claimed: draw all of them once. Sessions
  // evict pages meanwhile.
  std::vector<Frame*> kept;
  while (Frame* frame = core.Claim()) kept.push_back(frame);
  for (Frame* frame : kept) core.Free(frame);
}

Status BufferPool::Impl::ShrinkLocked(uint32_t frames) {
  const auto deadline = std::chrono::steady_clock::now() + kShrinkPatience;
  const uint32_t ever = core.arena->frames_ever();
  core.frame_limit.store(frames, std::memory_order_release);
  gate.Resize(frames);
  bool free_left = true;
  for (;;) {
    if (free_left) RetireFreeFrames();
    free_left = false;
    uint32_t left = 0;
    for (uint32_t number = frames; number < ever; ++number) {
      Frame* frame = core.arena->frame(number);
      if (RetireFrame(frame)) continue;
      ++left;
      // Of one who freed it with the limit of before in mind.
      free_left |= frame->state.load(std::memory_order_acquire) == FrameState::kFree;
      (void)flush_writer.TryAdd(frame);
      if (!flush_writer.full()) continue;
      const Status status = flush_writer.Push();
      if (!status.ok()) return status;
    }
    const Status status = flush_writer.Flush();
    if (!status.ok()) return status;
    if (left == 0) break;
    if (std::chrono::steady_clock::now() > deadline) {
      LogWarning(
          "The buffer pool has its new size, but {} pages beyond it are in use and could "
          "not be given back yet.",
          left);
      return Status(Code::kBusy, "some pages beyond the new size are still in use");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  core.arena->Shrink(frames);
  return Status::Ok();
}

}  // namespace rowan
