// SPDX-License-Identifier: GPL-2.0-only
// Redoing pages in batches. See redo_worker.h.
#include "buffer/redo_worker.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "buffer/eviction.h"
#include "buffer/redo_use.h"

namespace rowan {
namespace {

/// A page beyond the end of its file was never written: equivalent to damaged.
Status WithAbsentAsCorrupt(Status status) {
  const bool absent = status.Is(Code::kIoError) && status.detail() == 0;
  return absent ? Status(Code::kCorrupt, "it lies beyond the end of the file") : status;
}

}  // namespace

RedoWorker::RedoWorker(BufferPool* pool, uint32_t workers, uint64_t gathered_bytes_max)
    : pool_(pool),
      frames_(&pool->frames_),
      files_(&pool->files_),
      supply_(&pool->supply_),
      workers_(workers),
      gathered_bytes_max_(gathered_bytes_max) {}

size_t RedoWorker::LoadsMax() const {
  // All workers together take a quarter of a small pool: the redone pages need room, too.
  const uint32_t frames = frames_->limit();
  return std::clamp<size_t>(frames / 4 / workers_, 1, kBatchPages);
}

void RedoWorker::BeginSome(std::span<const uint64_t> pages, size_t* next,
                           std::vector<Failure>* failures) {
  const size_t loads_max = LoadsMax();
  while (*next < pages.size() && loads_.size() < loads_max) {
    const Begun begun = Begin(pages[*next], failures);
    const bool no_frame = begun == Begun::kNoFrame;
    if (no_frame && !loads_.empty()) return;
    if (no_frame || begun == Begun::kLater) later_.push_back(pages[*next]);
    ++*next;
    if (no_frame) return;
  }
}

Status RedoWorker::Run(std::span<const uint64_t> pages, std::vector<Failure>* failures) {
  if (batch_ == nullptr) {
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(files_->file_system(), files_->options().io_backend, kBatchPages, nullptr);
    if (!made.ok()) return made.status();
    batch_ = std::move(made).value();
  }
  portion_.reset();  // free its memory first
  Result<std::unique_ptr<RedoPortion>> portion =
      RedoUse(frames_, files_).Gather(pages, gathered_bytes_max_);
  if (!portion.ok()) return portion.status();
  portion_ = std::move(portion).value();
  for (size_t next = 0; next < pages.size();) {
    BeginSome(pages, &next, failures);
    FinishLoads();
    for (const uint64_t key : later_) RedoOne(key, failures);
    later_.clear();
    if (files_->Stopped()) return Status(Code::kStopped, "the log is stopped");
  }
  return Status::Ok();
}

RedoWorker::Begun RedoWorker::Begin(uint64_t key, std::vector<Failure>* failures) {
  const RedoUse use(frames_, files_);
  RedoBacklog::Page* page = use.Find(key);
  if (page == nullptr) return Begun::kDone;
  if (!files_->spaces()->IsLive(PageId::Unpack(key).space)) {
    failures->push_back({key, Status(Code::kNotFound, "the tablespace does not exist")});
    return Begun::kDone;
  }
  if (frames_->Lookup(key) != PageTable::kNone) return Begun::kLater;
  Frame* frame = supply_->TryTake();
  if (frame == nullptr) return Begun::kNoFrame;
  if (frames_->Publish(frame, key) != PageTable::kNone) {
    frames_->Free(frame);
    return Begun::kLater;
  }
  page = use.Find(key);  // the page may have been loaded and evicted in between
  if (page != nullptr && !use.MakesAnew(*page)) return BeginRead(frame, key);
  if (page == nullptr) {
    frames_->Drop(frame);
    return Begun::kDone;
  }
  if (const Status usable = files_->CheckUsable(PageId::Unpack(key)); !usable.ok()) {
    frames_->Drop(frame);
    failures->push_back({key, usable});
    return Begun::kDone;
  }
  if (!use.Apply(page, frame, RedoUse::How::kAnew, portion_.get()).ok()) {
    frames_->Drop(frame);
    return Begun::kLater;
  }
  FrameTable::EndLoad(frame, kUsageScan);
  frame->latch.UnlockExclusive();
  return Begun::kDone;
}

RedoWorker::Begun RedoWorker::BeginRead(Frame* frame, uint64_t key) {
  Result<SpaceFiles::Location> location =
      files_->spaces()->Locate(PageId::Unpack(key), SpaceFiles::Use::kRead);
  if (!location.ok()) {
    frames_->Drop(frame);
    return Begun::kLater;
  }
  loads_.push_back({frame, key, std::move(location).value()});
  return Begun::kLoading;
}

void RedoWorker::FinishLoads() {
  if (loads_.empty()) return;
  bool all_read = true;
  for (const Load& load : loads_) {
    const Status status = batch_->SubmitRead(load.location.file.get(), load.location.offset,
                                             frames_->PageOf(load.frame));
    all_read = all_read && status.ok();
  }
  // Which read failed is unknown: after a failure each page is read separately.
  all_read = batch_->WaitAll().ok() && all_read;
  const RedoUse use(frames_, files_);
  for (Load& load : loads_) {
    RedoBacklog::Page* page = use.Find(load.key);
    const PageId id = PageId::Unpack(load.key);
    if (!all_read || page == nullptr || !files_->Check(frames_->PageOf(load.frame), id).empty() ||
        !use.Apply(page, load.frame, RedoUse::How::kRead, portion_.get()).ok()) {
      frames_->Drop(load.frame);
      later_.push_back(load.key);
      continue;
    }
    AddCounter(Counter::kPagesRead);
    FrameTable::EndLoad(load.frame, kUsageScan);
    load.frame->latch.UnlockExclusive();
  }
  loads_.clear();
}

void RedoWorker::RedoOne(uint64_t key, std::vector<Failure>* failures) {
  const Status status = WithAbsentAsCorrupt(RedoPage(key));
  if (!status.ok()) failures->push_back({key, status});
}

Status RedoWorker::RedoPage(uint64_t key) {
  // Loading the page applies its records, unless it is here from an earlier stretch of the log.
  Result<PageGuard> guard =
      pool_->Fix(PageId::Unpack(key), LatchMode::kExclusive, FixHint::kSpeculative);
  if (!guard.ok()) return guard.status();
  const RedoUse use(frames_, files_);
  RedoBacklog::Page* page = use.Find(key);
  if (page == nullptr) return Status::Ok();
  const auto how = use.MakesAnew(*page) ? RedoUse::How::kAnew : RedoUse::How::kRead;
  const Status status = use.Apply(page, guard->frame(), how, portion_.get());
  // Half a group must not reach the disk: with its LSN it would look complete to the next start.
  if (!status.ok()) pool_->Discard(std::move(guard).value());
  return status;
}

}  // namespace rowan
