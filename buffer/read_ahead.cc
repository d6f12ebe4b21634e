// SPDX-License-Identifier: GPL-2.0-only
// Reading ahead. See read_ahead.h.
#include "buffer/read_ahead.h"

#include <algorithm>
#include <chrono>

#include "base/counters.h"
#include "buffer/page/page_header.h"

namespace rowan {

ReadAhead::ReadAhead(FrameTable* frames, PageFiles* files, FrameSupply* supply)
    : frames_(frames),
      files_(files),
      supply_(supply),
      loop_("read-ahead", std::chrono::milliseconds(1000), [this] { return RunUnit(); }) {
  loads_.reserve(kBatchPages);
}

Status ReadAhead::Start() {
  const Status status = loop_.Start();
  if (status.ok()) running_.store(true, std::memory_order_release);
  return status;
}

void ReadAhead::Stop() {
  running_.store(false, std::memory_order_release);
  loop_.Stop();
}

void ReadAhead::Request(std::span<const PageId> pages) {
  if (!running_.load(std::memory_order_acquire)) return;
  {
    const MutexLock guard(&mutex_);
    for (const PageId id : pages) {
      if (count_ == kQueuePages) break;
      queue_[(head_ + count_) % kQueuePages] = id;
      ++count_;
    }
  }
  loop_.Wake();
}

size_t ReadAhead::TakeRequests(std::array<PageId, kBatchPages>* pages) {
  // Not more than an eighth of a small pool: the pages must survive until they are needed.
  const uint32_t frames = frames_->limit();
  const size_t most = std::clamp<size_t>(frames / 8, 1, kBatchPages);
  const MutexLock guard(&mutex_);
  size_t taken = 0;
  while (taken < most && count_ > 0) {
    (*pages)[taken++] = queue_[head_];
    head_ = (head_ + 1) % kQueuePages;
    --count_;
  }
  return taken;
}

ThreadLoop::Next ReadAhead::RunUnit() {
  if (batch_ == nullptr) {
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(files_->file_system(), files_->options().io_backend, kBatchPages, nullptr);
    if (!made.ok()) return ThreadLoop::Next::kWait;  // sessions do the reads
    batch_ = std::move(made).value();
  }
  std::array<PageId, kBatchPages> pages;
  const size_t taken = TakeRequests(&pages);
  if (taken == 0) return ThreadLoop::Next::kWait;
  bool submitted = true;
  for (size_t i = 0; i < taken; ++i) {
    if (!BeginLoad(pages[i])) continue;
    const Load& load = loads_.back();
    const Status status = batch_->SubmitRead(load.location.file.get(), load.location.offset,
                                             frames_->PageOf(load.frame));
    submitted = submitted && status.ok();
  }
  // Which read failed is unknown, and a frame may still hold an old image of the same page: after a
  // failure none is trusted.
  const bool finished = batch_->WaitAll().ok();
  FinishLoads(submitted && finished);
  return ThreadLoop::Next::kAgain;
}

bool ReadAhead::BeginLoad(PageId id) {
  const uint64_t key = id.Packed();
  if (key == 0 || frames_->Lookup(key) != PageTable::kNone) return false;
  // During redo sessions do the reads: a page that is read may lack records.
  if (files_->backlog() != nullptr) return false;
  Result<SpaceFiles::Location> location = files_->spaces()->Locate(id, SpaceFiles::Use::kRead);
  if (!location.ok()) return false;
  Frame* frame = supply_->TryTake();
  if (frame == nullptr) return false;
  if (frames_->Publish(frame, key) != PageTable::kNone) {
    frames_->Free(frame);
    return false;
  }
  loads_.push_back({frame, id, std::move(location).value()});
  return true;
}

void ReadAhead::FinishLoads(bool all_read) {
  for (Load& load : loads_) {
    if (!all_read || !files_->Check(frames_->PageOf(load.frame), load.id).empty()) {
      frames_->Drop(load.frame);
      continue;
    }
    load.frame->usage.store(kUsageScan, std::memory_order_relaxed);
    load.frame->state.store(FrameState::kResident, std::memory_order_release);
    load.frame->latch.UnlockExclusive();
    AddCounter(Counter::kPagesReadAhead);
  }
  loads_.clear();
}

}  // namespace rowan
