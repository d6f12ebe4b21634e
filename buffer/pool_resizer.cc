// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/pool_resizer.h"

#include <chrono>
#include <thread>
#include <vector>

#include "base/logging.h"
#include "buffer/buffer_options.h"

namespace rowan {
namespace {

/// How long a shrinking pool waits for frames that are constantly in use.
constexpr std::chrono::seconds kShrinkPatience{30};

}  // namespace

Status PoolResizer::Resize(uint64_t frames, PageWriter* writer) {
  if (frames < kPoolPagesMin) {
    return Status(Code::kInvalidArgument, "the buffer pool would be smaller than 16 pages");
  }
  if (frames > frames_->frames_max()) {
    return Status(Code::kInvalidArgument,
                  "the pool can grow so far only when the server starts with that size");
  }
  const auto wanted = static_cast<uint32_t>(frames);
  writer->SetReason(FlushReason::kResize);
  return wanted >= frames_->limit() ? Grow(wanted) : Shrink(wanted, writer);
}

Status PoolResizer::Grow(uint32_t frames) {
  const uint32_t ever = frames_->frames_ever();
  frames_->EnlargeTable(frames);
  // Before the frames exist for the sweeps.
  checkpointer_->NoteGrowth(ever, frames);
  const Status status = frames_->Grow(frames);
  if (!status.ok()) return status;
  frames_->RaiseLimit(frames);
  limiter_->Resize(frames);
  return Status::Ok();
}

bool PoolResizer::RetireFrame(Frame* frame) {
  if (frame->state.load(std::memory_order_acquire) == FrameState::kRetired) return true;
  if (frames_->TryTakeClean(frame)) frames_->Free(frame);
  return frame->state.load(std::memory_order_acquire) == FrameState::kRetired;
}

void PoolResizer::RetireFreeFrames() {
  // Free frames beyond the limit retire when they are claimed: claim all of them once. Sessions
  // evict pages meanwhile.
  std::vector<Frame*> kept;
  while (Frame* frame = frames_->ClaimListed()) kept.push_back(frame);
  for (Frame* frame : kept) frames_->Free(frame);
}

Status PoolResizer::EmptyFrames(uint32_t frames, PageWriter* writer, Left* left) {
  *left = {};
  for (uint32_t number = frames; number < frames_->frames_used(); ++number) {
    Frame* frame = frames_->frame(number);
    if (RetireFrame(frame)) continue;
    ++left->frames;
    // Freed by a thread that saw the former limit.
    left->free |= frame->state.load(std::memory_order_acquire) == FrameState::kFree;
    (void)writer->TryAdd(frame);
    if (!writer->full()) continue;
    const Status status = writer->Push();
    if (!status.ok()) return status;
  }
  return writer->Flush();
}

Status PoolResizer::Shrink(uint32_t frames, PageWriter* writer) {
  const auto deadline = std::chrono::steady_clock::now() + kShrinkPatience;
  frames_->LowerLimit(frames);
  limiter_->Resize(frames);
  Left left{.free = true};
  for (;;) {
    if (left.free) RetireFreeFrames();
    const Status status = EmptyFrames(frames, writer, &left);
    if (!status.ok()) return status;
    if (left.frames == 0) break;
    if (std::chrono::steady_clock::now() > deadline) {
      LogWarning(
          "The buffer pool has its new size, but {} pages beyond it are in use and could "
          "not be given back yet.",
          left.frames);
      return Status(Code::kBusy, "some pages beyond the new size are still in use");
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  frames_->Shrink(frames);
  return Status::Ok();
}

}  // namespace rowan
