// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/dead_spaces.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Frames or pages examined per unit of work: less than a millisecond.
constexpr uint32_t kStep = 32768;

}  // namespace

void DeadSpaces::Add(SpaceId space, uint32_t pages_max) {
  const MutexLock guard(&mutex_);
  added_.push_back({space, pages_max});
}

bool DeadSpaces::TryForget(Frame* frame) {
  if (!frame->latch.TryLockExclusive()) return false;
  if (frame->state.load(std::memory_order_relaxed) != FrameState::kResident ||
      frame->io_in_progress.load(std::memory_order_acquire) != 0 ||
      files_->IsLive(PageId::Unpack(frame->page_id.load(std::memory_order_relaxed)).space)) {
    frame->latch.UnlockExclusive();
    return false;
  }
  frames_->Drop(frame);
  return true;
}

void DeadSpaces::ForgetPages(SpaceId space, uint32_t pages) {
  for (uint32_t page = 0; page < pages; ++page) {
    const uint32_t number = frames_->Lookup(PageId{space, PageNumber(page)}.Packed());
    if (number != PageTable::kNone) (void)TryForget(frames_->frame(number));
  }
}

bool DeadSpaces::ForgetSome() {
  std::vector<Dead> added;
  {
    const MutexLock guard(&mutex_);
    added.swap(added_);
  }
  const uint32_t frames = frames_->frames_used();
  for (const Dead& dead : added) {
    if (dead.pages_max <= std::min(frames, kStep)) {
      ForgetPages(dead.space, dead.pages_max);
    } else {
      walked_.push_back(dead.space);
      walked_frames_ = 0;  // one walk for all of them
    }
  }
  if (walked_.empty()) return false;
  std::sort(walked_.begin(), walked_.end());
  ROWAN_DCHECK(walked_frames_ <= frames);
  const uint32_t end = walked_frames_ + std::min(kStep, frames - walked_frames_);
  for (; walked_frames_ < end; ++walked_frames_) {
    Frame* frame = frames_->frame(walked_frames_);
    const uint64_t key = frame->page_id.load(std::memory_order_relaxed);
    const SpaceId space = PageId::Unpack(key).space;
    if (key == 0 || !std::binary_search(walked_.begin(), walked_.end(), space)) continue;
    (void)TryForget(frame);
  }
  if (walked_frames_ < frames) return true;
  walked_.clear();
  walked_frames_ = 0;
  return false;
}

}  // namespace rowan
