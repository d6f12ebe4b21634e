// SPDX-License-Identifier: GPL-2.0-only
// Taking frames. See frame_supply.h.
#include "buffer/frame_supply.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// Steps of the hand a session takes in a large pool before it asks for clean frames: enough to
/// lower some thousand usages, cheap compared with the read that follows.
constexpr uint64_t kSearchStepsMax = 16384;
/// Clean pages are scarce if the search for one met this part of the pool's frames dirty. Two of
/// them are then too few for a path through a tree.
constexpr uint64_t kScarceShare = 2;
/// How long a thread looks for a frame when all pages are latched.
constexpr std::chrono::seconds kPatience{20};
constexpr std::chrono::microseconds kPause{200};

}  // namespace

FrameSupply::FrameSupply(FrameTable* frames, PageFiles* files, DoublewriteFile* doublewrite,
                         const WriterSlots& slots)
    : frames_(frames), files_(files) {
  for (uint32_t i = 0; i < slots.sessions; ++i) {
    const uint32_t slot = WriterSlots::kSessions + i;
    writers_.push_back(std::make_unique<SharedWriter>(frames, files, doublewrite, slot));
  }
}

FrameSupply::SharedWriter* FrameSupply::LockWriter() {
  for (const auto& candidate : writers_) {
    if (candidate->mutex.TryLock()) return candidate.get();
  }
  const uint32_t turn = next_writer_.fetch_add(1, std::memory_order_relaxed);
  SharedWriter* const shared = writers_[turn % writers_.size()].get();
  shared->mutex.Lock();
  return shared;
}

Frame* FrameSupply::TakeOrEvict(uint64_t steps, uint64_t* dirty_seen) {
  Frame* frame = frames_->Claim();
  if (wake_evictor_ && frames_->free_frames() < FreeFramesLow(frames_->limit())) {
    wake_evictor_();
  }
  if (frame != nullptr) return frame;
  frame = EvictClean(frames_, steps, dirty_seen);
  if (*dirty_seen != 0) frames_->WantCleanFrames();
  return frame;
}

Frame* FrameSupply::TryTake() {
  const uint64_t frames = frames_->limit();
  uint64_t dirty_seen = 0;
  return TakeOrEvict(std::min<uint64_t>(frames, 1024), &dirty_seen);
}

Result<Frame*> FrameSupply::Take() {
  const uint64_t frames = frames_->limit();
  uint64_t dirty_seen = 0;
  Frame* frame = TakeOrEvict(std::min(4 * frames, kSearchStepsMax), &dirty_seen);
  if (frame == nullptr) {
    AddCounter(Counter::kFreeFrameWaits);
    return TakeSlow();
  }
  if (dirty_seen > frames / kScarceShare) TryWriteSome();
  return frame;
}

void FrameSupply::TryWriteSome() {
  for (const auto& shared : writers_) {
    if (!shared->mutex.TryLock()) continue;
    // A failure stops the engine, which the caller's next step will notice.
    OrOutOfMemory([&] {
      shared->mutex.AssertHeld();
      uint64_t written = 0;
      return WriteSome(&shared->writer, &written);
    }).Ignore();
    shared->mutex.Unlock();
    return;
  }
}

Result<Frame*> FrameSupply::TakeSlow() {
  const auto deadline = std::chrono::steady_clock::now() + kPatience;
  for (;;) {
    uint64_t written = 0;
    SharedWriter* const shared = LockWriter();
    shared->mutex.AssertHeld();
    Result<Frame*> taken = OrOutOfMemory([&] {
      shared->mutex.AssertHeld();
      return TakeOrWrite(shared, &written);
    });
    shared->mutex.Unlock();
    if (!taken.ok() || *taken != nullptr) return taken;
    if (written != 0) continue;
    if (std::chrono::steady_clock::now() > deadline) break;
    std::this_thread::sleep_for(kPause);
  }
  LogError(
      "No page could leave the buffer pool for {} s: all are in use. "
      "rowan_buffer_pool_size is too small for this many sessions.",
      kPatience.count());
  return Status(Code::kOutOfMemory, "all pages of the buffer pool are in use");
}

Result<Frame*> FrameSupply::TakeOrWrite(SharedWriter* shared, uint64_t* written) {
  const uint64_t frames = frames_->limit();
  uint64_t dirty_seen = 0;
  Frame* frame = TakeOrEvict(std::min(4 * frames, kSearchStepsMax), &dirty_seen);
  if (frame != nullptr) return frame;
  const Status status = WriteSome(&shared->writer, written);
  if (!status.ok()) return status;
  return frame;
}

Status FrameSupply::WriteSome(PageWriter* writer, uint64_t* written) {
  const uint64_t before = writer->pages_written();
  const uint32_t frames = frames_->limit();
  const uint64_t start = frames_->clock_hand()->position();
  // First what the clock will take next; failing that, anything dirty.
  for (const uint8_t usage_max : {uint8_t{0}, kUsageInner}) {
    for (uint64_t i = 0; i < frames && !writer->full(); ++i) {
      Frame* frame = frames_->frame(static_cast<uint32_t>((start + i) % frames));
      if (frame->usage.load(std::memory_order_relaxed) > usage_max) continue;
      (void)writer->TryAdd(frame);
    }
    if (!writer->empty()) break;
  }
  const Status status = writer->Flush();
  *written = writer->pages_written() - before;
  return status;
}

}  // namespace rowan
