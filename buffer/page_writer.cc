// SPDX-License-Identifier: GPL-2.0-only
// One batch of page writes from copy to clean. See page_writer.h.
#include "buffer/page_writer.h"

#include <algorithm>
#include <cstring>
#include <shared_mutex>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/logging.h"
#include "buffer/page_header.h"

namespace rowan {
namespace {

/// In a tiny pool a batch must not hold most of the frames.
uint32_t BatchPages(const PoolCore& core) {
  const uint32_t by_pool = std::max<uint32_t>(8, core.arena->frames_ever() / 4);
  return std::min(SegmentPages(core.page_size), by_pool);
}

void StoreIdentity(std::byte* image, PageId id) {
  StoreLe<uint32_t>(image + 16, id.space.value());
  StoreLe<uint32_t>(image + 20, id.page.value());
}

}  // namespace

PageWriter::PageWriter(PoolCore* core, DoublewriteFile* doublewrite, uint32_t slot)
    : core_(core),
      doublewrite_(doublewrite),
      first_segment_(slot * kSegmentsPerWriter),
      capacity_(BatchPages(*core)) {
  entries_.reserve(capacity_);
  page_ids_.reserve(capacity_);
}

std::byte* PageWriter::ImageAt(size_t position) {
  return buffer_.data() + kDirectoryBytes + position * core_->page_size;
}

PageWriter::Added PageWriter::TryAdd(Frame* frame) {
  if (frame->FirstDirtyLsn() == 0) return Added::kClean;
  if (!frame->latch.TryLockShared()) return Added::kBusy;
  return CopyShared(frame);
}

PageWriter::Added PageWriter::AddWaiting(Frame* frame) {
  ROWAN_CHECK(empty());
  if (frame->FirstDirtyLsn() == 0) return Added::kClean;
  frame->latch.LockShared();
  return CopyShared(frame);
}

PageWriter::Added PageWriter::CopyShared(Frame* frame) {
  ROWAN_CHECK(!full());
  if (buffer_.size() == 0) buffer_ = AlignedBuffer(kDirectoryBytes + capacity_ * core_->page_size);
  uint8_t idle = 0;
  if (!frame->io_in_progress.compare_exchange_strong(idle, 1, std::memory_order_acq_rel)) {
    frame->latch.UnlockShared();
    return Added::kBusy;
  }
  // No change can begin under the shared latch and no other writer finishes now.
  const uint64_t dirty = frame->first_dirty_lsn.load(std::memory_order_acquire);
  if (dirty == 0) {
    frame->io_in_progress.store(0, std::memory_order_release);
    frame->latch.UnlockShared();
    return Added::kClean;
  }
  ROWAN_CHECK((dirty & kCopiedBit) == 0);
  frame->first_dirty_lsn.store(dirty | kCopiedBit, std::memory_order_release);
  const PageId id = PageId::Unpack(frame->page_id.load(std::memory_order_relaxed));
  std::byte* image = ImageAt(entries_.size());
  std::memcpy(image, core_->PageOf(frame).data(), core_->page_size);
  entries_.push_back({frame, id, dirty, core_->LogTail(), {}});
  frame->latch.UnlockShared();
  StoreIdentity(image, id);
  SealPage({image, core_->page_size});
  max_lsn_ = std::max(max_lsn_, PageLsnOf(image).value());
  return Added::kYes;
}

Status PageWriter::Flush() {
  if (empty()) return Status::Ok();
  std::shared_lock gate(core_->write_gate);
  Status status = MakeLogDurable();
  if (status.ok()) status = WriteDoublewrite();
  if (status.ok()) status = WriteHome();
  if (!status.ok() && !status.Is(Code::kStopped)) {
    status = core_->StopEngine("a write or sync of a data file failed", status);
  }
  FinishEntries(status.ok());
  return status;
}

Status PageWriter::MakeLogDurable() {
  if (core_->log == nullptr) return Status::Ok();
  const Status status = core_->log->WaitDurable(Lsn(max_lsn_));
  if (!status.ok()) return status.Is(Code::kStopped) ? status : Status(Code::kStopped);
  // Groups appended after a stop went nowhere, though their LSN may look durable. A page changed by
  // one was copied after the stop, so the stop is visible here.
  return core_->log->stopped() ? Status(Code::kStopped, "the log is stopped") : Status::Ok();
}

Status PageWriter::WriteDoublewrite() {
  used_segment_ = core_->doublewrite_mode.load(std::memory_order_acquire) == DoublewriteMode::kOn;
  if (!used_segment_) return Status::Ok();
  page_ids_.clear();
  for (const Entry& entry : entries_) page_ids_.push_back(entry.id);
  next_segment_ = (next_segment_ + 1) % kSegmentsPerWriter;
  return doublewrite_->WriteSegment(first_segment_ + next_segment_, page_ids_, buffer_.data());
}

Status PageWriter::WriteHome() {
  if (batch_ == nullptr) {
    std::string reason;
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(core_->options.io_backend, SegmentPages(core_->page_size), &reason);
    if (!made.ok()) return made.status();
    batch_ = std::move(made).value();
  }
  Status first_failure;
  for (size_t i = 0; i < entries_.size(); ++i) {
    Result<SpaceFiles::Location> location = core_->files->Locate(entries_[i].id);
    if (!location.ok()) {
      // A dead space needs no page any more.
      if (!location.status().Is(Code::kNotFound)) first_failure = location.status();
      continue;
    }
    entries_[i].location = std::move(location).value();
    const Status status = batch_->Submit(entries_[i].location.file.get(),
                                         entries_[i].location.offset,
                                         {ImageAt(i), core_->page_size});
    if (!status.ok() && first_failure.ok()) first_failure = status;
  }
  const Status waited = batch_->WaitAll();
  if (first_failure.ok()) first_failure = waited;
  if (!first_failure.ok()) return first_failure;
  AddCounter(Counter::kPagesWritten, entries_.size());
  pages_written_ += entries_.size();
  return Status::Ok();
}

void PageWriter::FinishEntries(bool written) {
  std::vector<std::pair<SpaceId, SyncTracker::Ticket>> touched;
  if (written) {
    for (const Entry& entry : entries_) {
      if (entry.location.file == nullptr) continue;
      const SpaceId space = entry.id.space;
      const auto same = [space](const auto& item) { return item.first == space; };
      if (std::any_of(touched.begin(), touched.end(), same)) continue;
      // Noted before any frame becomes clean, so a checkpoint that finds it clean syncs the file.
      touched.emplace_back(space, core_->syncs.NoteWrite(space));
    }
    if (used_segment_) {
      doublewrite_->NoteHome(first_segment_ + next_segment_, std::move(touched));
    }
  }
  for (const Entry& entry : entries_) {
    std::atomic<uint64_t>& word = entry.frame->first_dirty_lsn;
    uint64_t unchanged = entry.dirty | kCopiedBit;
    if (word.compare_exchange_strong(unchanged, written ? 0 : entry.dirty,
                                     std::memory_order_acq_rel)) {
      if (written) core_->dirty_frames.fetch_sub(1, std::memory_order_relaxed);
    } else if (written) {
      // Changed since the copy: dirty from copy time on. If it was discarded the word is another
      // value (a later change's bound is above `dirty`) and stays as it is.
      uint64_t changed = entry.dirty;
      word.compare_exchange_strong(changed, entry.noted, std::memory_order_acq_rel);
    }
    entry.frame->io_in_progress.store(0, std::memory_order_release);
  }
  entries_.clear();
  max_lsn_ = 0;
}

}  // namespace rowan
