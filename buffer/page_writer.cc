// SPDX-License-Identifier: GPL-2.0-only
// One batch of page writes from copy to clean. See page_writer.h.
#include "buffer/page_writer.h"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "base/assertions.h"
#include "base/counter_batch.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "buffer/page/page_header.h"
#include "buffer/writer_slots.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// In a tiny pool three batches must not hold most of the frames.
uint32_t BatchPages(uint32_t page_size, uint32_t frames) {
  const uint32_t by_pool = std::max<uint32_t>(8, frames / 6);
  return std::min(SegmentPages(page_size), by_pool);
}

void StoreIdentity(std::byte* image, PageId id) {
  StoreLe<uint32_t>(image + 16, id.space.value());
  StoreLe<uint32_t>(image + 20, id.page.value());
}

}  // namespace

PageWriter::PageWriter(FrameTable* frames, PageFiles* files, DoublewriteFile* doublewrite,
                       uint32_t slot)
    : frames_(frames),
      files_(files),
      doublewrite_(doublewrite),
      segments_(SegmentsPerWriter(frames->frames_ever())),
      first_segment_(slot * segments_),
      capacity_(BatchPages(frames->page_size(), frames->frames_ever())),
      files_max_(
          std::max(4u, files->spaces()->OpenHandlesMax() /
                           (2 * WriterSlots::Of(files->options(), frames->page_size()).total()))),
      gate_(files->write_gate()) {
  for (Batch& batch : batches_) batch.entries.reserve(capacity_);
  page_ids_.reserve(capacity_);
}

std::byte* PageWriter::ImageAt(const Batch& batch, size_t slot) const {
  return const_cast<std::byte*>(batch.images.data()) + slot * frames_->page_size();
}

void PageWriter::ReserveImages() {
  Batch& batch = *filling_;
  if (batch.images.size() != 0) return;
  batch.images = AlignedBuffer(size_t{capacity_} * frames_->page_size());
}

void PageWriter::SetReason(FlushReason reason) {
  for (const Batch& batch : batches_) ROWAN_CHECK(batch.entries.empty());
  reason_ = reason;
}

PageWriter::Added PageWriter::TryAdd(Frame* frame) {
  if (frame->FirstDirtyLsn() == kNoLsn) return Added::kClean;
  ReserveImages();
  if (!frame->latch.TryLockShared()) return Added::kBusy;
  return CopyShared(frame);
}

PageWriter::Added PageWriter::AddWaiting(Frame* frame) {
  ROWAN_CHECK(empty());
  ROWAN_CHECK(doublewriting_->entries.empty() && flying_->entries.empty());
  if (frame->FirstDirtyLsn() == kNoLsn) return Added::kClean;
  ReserveImages();
  frame->latch.LockShared();
  return CopyShared(frame);
}

PageWriter::Added PageWriter::CopyShared(Frame* frame) {
  ROWAN_CHECK(!full());
  Batch& batch = *filling_;
  uint8_t idle = 0;
  if (!frame->io_in_progress.compare_exchange_strong(idle, 1, std::memory_order_acq_rel)) {
    frame->latch.UnlockShared();
    return Added::kBusy;
  }
  // No change can begin under the shared latch and no other writer finishes now.
  const uint64_t word = frame->first_dirty_lsn.load(std::memory_order_acquire);
  if (word == 0) {
    frame->io_in_progress.store(0, std::memory_order_release);
    frame->latch.UnlockShared();
    return Added::kClean;
  }
  ROWAN_CHECK((word & kCopiedBit) == 0);
  frame->first_dirty_lsn.store(word | kCopiedBit, std::memory_order_release);
  const Lsn dirty(word);
  const PageId id = PageId::Unpack(frame->page_id.load(std::memory_order_relaxed));
  ROWAN_DCHECK(id.Packed() != 0 && !frame->latch.IsLockedExclusive());
  ROWAN_DCHECK(dirty != kNoLsn &&
               frame->state.load(std::memory_order_relaxed) == FrameState::kResident);
  const bool temporary = IsTemporary(id.space);
  if (temporary) ++batch.temporary;
  const size_t slot =
      temporary ? capacity_ - batch.temporary : batch.entries.size() - batch.temporary;
  ROWAN_DCHECK(slot < capacity_);
  std::byte* image = ImageAt(batch, slot);
  std::memcpy(image, frames_->PageOf(frame).data(), frames_->page_size());
  // Redo changes pages at LSNs far below the tail, also this one, if a later stretch of the log has
  // more of it: the bound stays where it was dirty from. Temporary pages have no other.
  const bool redoing = files_->redoing();
  const Lsn noted = redoing || temporary ? dirty : files_->LogTail();
  batch.entries.push_back({frame, id, dirty, noted, slot, false, {}});
  frame->latch.UnlockShared();
  StoreIdentity(image, id);
  SealPage({image, frames_->page_size()});
  ROWAN_DCHECK(VerifyPage({image, frames_->page_size()}, id) == PageVerdict::kGood);
  batch.max_lsn = std::max(batch.max_lsn, PageLsnOf(image));
  return Added::kYes;
}

Status PageWriter::Push() {
  if (empty()) return Status::Ok();
  gate_.Enter();
  const DoublewriteMode mode = files_->doublewrite_mode();
  const bool all_temporary = filling_->temporary == filling_->entries.size();
  const bool doublewrite =
      !all_temporary && (mode == DoublewriteMode::kOn || mode == DoublewriteMode::kDetectOnly);
  const Status status = OrOutOfMemory([&] { return PrepareFilled(mode, doublewrite); });
  if (!status.ok()) return Abort(status);
  if (doublewrite) {
    ROWAN_DCHECK(doublewriting_->entries.empty());
    std::swap(filling_, doublewriting_);
  } else {
    std::swap(filling_, flying_);
    flying_->submitted = OrOutOfMemory([this] { return SendHome(); });
  }
  return Status::Ok();
}

Status PageWriter::PrepareFilled(DoublewriteMode mode, bool doublewrite) {
  Status status;
  if (doublewrite) {
    status = FinishFlying();
    if (!status.ok()) return status;
    // Now, because a sync would also wait for the writes that are sent home next.
    status = doublewrite_->Settle(NextSegment());
    if (!status.ok()) return status;
  }
  status = Advance();
  if (!status.ok()) return status;
  status = MakeLogDurable();
  if (!status.ok()) return status;
  return doublewrite ? StartDoublewrite(mode) : FinishFlying();
}

Status PageWriter::Flush() {
  const Status pushed = Push();
  if (!pushed.ok()) return pushed;
  const Status advanced = OrOutOfMemory([this] { return Advance(); });
  if (!advanced.ok()) return Abort(advanced);
  const Status finished = OrOutOfMemory([this] { return FinishFlying(); });
  if (!finished.ok()) return Abort(finished);
  gate_.Leave();
  Refit();
  return Status::Ok();
}

void PageWriter::Refit() {
  const uint32_t pages = BatchPages(frames_->page_size(), frames_->limit());
  if (pages == capacity_) return;
  capacity_ = pages;
  for (Batch& batch : batches_) {
    batch.images = AlignedBuffer();  // allocated again when the next page is added
    batch.entries.reserve(capacity_);
  }
  page_ids_.reserve(capacity_);
  packed_ = AlignedBuffer();
  home_writes_.reset();  // its depth is the capacity
}

Status PageWriter::Abort(Status failure) {
  if (!failure.Is(Code::kStopped)) {
    failure = files_->StopEngine("a write or sync of a data file failed", failure);
  }
  // The engine has stopped already. Wait anyway: buffers are in use until then.
  WaitDoublewritten().Ignore();
  FinishFlying().Ignore();
  EndBatch(doublewriting_, false);
  EndBatch(filling_, false);
  gate_.Leave();
  return failure;
}

Status PageWriter::Advance() {
  if (doublewriting_->entries.empty()) return Status::Ok();
  Status status = WaitDoublewritten();
  if (!status.ok()) return status;
  status = FinishFlying();
  if (!status.ok()) return status;
  ROWAN_DCHECK(flying_->entries.empty());
  std::swap(doublewriting_, flying_);
  flying_->submitted = OrOutOfMemory([this] { return SendHome(); });
  return Status::Ok();
}

Status PageWriter::MakeLogDurable() {
  if (files_->log() == nullptr) return Status::Ok();
  const Status status = files_->log()->WaitDurable(filling_->max_lsn);
  if (!status.ok()) return status.Is(Code::kStopped) ? status : Status(Code::kStopped);
  // Groups appended after a stop went nowhere, though their LSN may look durable. A page changed by
  // one was copied after the stop, so the stop is visible here.
  return files_->log()->stopped() ? Status(Code::kStopped, "the log is stopped") : Status::Ok();
}

Result<WriteBatch*> PageWriter::Opened(std::unique_ptr<WriteBatch>* writes, uint32_t depth) {
  if (*writes == nullptr) {
    std::string reason;
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(files_->file_system(), files_->options().io_backend, depth, &reason);
    if (!made.ok()) {
      // It was possible when the pool was opened: now the system is short of something.
      LogWarning("A page writer does its I/O with threads: {}", reason);
      made = MakeWriteBatch(files_->file_system(), IoBackend::kThreads, depth, &reason);
    }
    if (!made.ok()) return made.status();
    *writes = std::move(made).value();
  }
  return writes->get();
}

Status PageWriter::StartDoublewrite(DoublewriteMode mode) {
  const Result<WriteBatch*> writes = Opened(&doublewrites_, kSegmentPieces);
  if (!writes.ok()) return writes.status();
  Batch& batch = *filling_;
  batch.doublewritten = true;
  page_ids_.clear();
  for (const Entry& entry : batch.entries) {
    if (!IsTemporary(entry.id.space)) page_ids_.push_back(entry.id);
  }
  batch.segment = NextSegment();
  next_segment_ = (next_segment_ + 1) % segments_;
  const auto contents = mode == DoublewriteMode::kOn ? DoublewriteFile::Contents::kImages
                                                     : DoublewriteFile::Contents::kChecksums;
  if (packed_.size() == 0) {
    packed_ = AlignedBuffer(DoublewriteFile::PackedBytesMax(capacity_, frames_->page_size()));
  }
  return doublewrite_->StartSegment(batch.segment, {page_ids_, contents, batch.images.data()},
                                    packed_.span(), writes.value());
}

Status PageWriter::WaitDoublewritten() {
  return doublewrites_ == nullptr ? Status::Ok() : doublewrites_->WaitAll();
}

Status PageWriter::ReleaseHandles() {
  const Status status = home_writes_->WaitAll();
  for (Entry& entry : flying_->entries) entry.location.file.reset();
  return status;
}

Result<SpaceFiles::Location> PageWriter::LocateHome(PageId id) {
  // Ends only by success or a stop: nothing is lost while this waits, and there is no other way.
  for (;;) {
    Result<SpaceFiles::Location> location = files_->spaces()->Locate(id, SpaceFiles::Use::kWrite);
    if (location.ok() || !IsResourceShortage(location.status())) return location;
    if (files_->Stopped()) return Status(Code::kStopped, "the log is stopped");
    const Status status = ReleaseHandles();
    if (!status.ok()) return status;
  }
}

Status PageWriter::SendHome() {
  const Result<WriteBatch*> writes = Opened(&home_writes_, capacity_);
  if (!writes.ok()) return writes.status();
  Batch& batch = *flying_;
  uint32_t files = 0;
  for (size_t i = 0; i < batch.entries.size(); ++i) {
    Entry& entry = batch.entries[i];
    if (i == 0 || entry.id.space != batch.entries[i - 1].id.space) ++files;
    if (files > files_max_) {
      const Status status = ReleaseHandles();
      if (!status.ok()) return status;
      files = 1;
    }
    Result<SpaceFiles::Location> location = LocateHome(entry.id);
    if (location.status().Is(Code::kNotFound)) continue;  // a dead space needs no page any more
    if (!location.ok()) return location.status();
    entry.location = std::move(location).value();
    ROWAN_DCHECK(files_->log() == nullptr || files_->log()->stopped() ||
                 IsTemporary(entry.id.space) ||
                 PageLsnOf(ImageAt(batch, entry.slot)) <= files_->log()->durable());
    ROWAN_DCHECK(VerifyPage({ImageAt(batch, entry.slot), frames_->page_size()}, entry.id) ==
                 PageVerdict::kGood);
    entry.sent = true;
    const Status status =
        writes.value()->Submit(entry.location.file.get(), entry.location.offset,
                               {ImageAt(batch, entry.slot), frames_->page_size()});
    if (!status.ok()) return status;
  }
  writes.value()->Send();
  return Status::Ok();
}

Status PageWriter::FinishFlying() {
  if (flying_->entries.empty()) return Status::Ok();
  Status status = flying_->submitted;
  // Wait even if submitting failed: the buffer is in use until then.
  if (home_writes_ != nullptr) KeepFirst(&status, home_writes_->WaitAll());
  EndBatch(flying_, status.ok());
  return status;
}

void PageWriter::EndBatch(Batch* batch, bool written) {
  std::vector<std::pair<SpaceId, SyncTracker::Ticket>> touched;
  if (written) {
    AddCounter(Counter::kPagesWritten, batch->entries.size());
    pages_written_ += batch->entries.size();
    for (const Entry& entry : batch->entries) {
      if (!entry.sent || IsTemporary(entry.id.space)) continue;
      const SpaceId space = entry.id.space;
      const auto same = [space](const auto& item) { return item.first == space; };
      if (std::any_of(touched.begin(), touched.end(), same)) continue;
      // Noted before any frame becomes clean, so a checkpoint that finds it clean syncs the file.
      touched.emplace_back(space, files_->syncs()->NoteWrite(space));
    }
    NoteVersions(*batch);
    if (batch->doublewritten) doublewrite_->NoteHome(batch->segment, std::move(touched));
  }
  ROWAN_DCHECK(batch->temporary <= batch->entries.size());
  CounterBatch counted;
  for (const Entry& entry : batch->entries) {
    if (entry.sent) {
      counted.Add(CounterOf(CauseOf(entry.id.space, reason_)), frames_->page_size());
    }
    EndEntry(entry, written);
  }
  batch->entries.clear();
  batch->temporary = 0;
  batch->max_lsn = kNoLsn;
  batch->doublewritten = false;
  batch->submitted = Status::Ok();
}

void PageWriter::NoteVersions(const Batch& batch) {
  for (const Entry& entry : batch.entries) {
    if (!entry.sent || IsTemporary(entry.id.space)) continue;
    files_->page_lsns()->Note(entry.id, PageLsnOf(ImageAt(batch, entry.slot)));
  }
}

void PageWriter::EndEntry(const Entry& entry, bool written) {
  ROWAN_DCHECK(entry.frame->io_in_progress.load(std::memory_order_relaxed) == 1);
  ROWAN_DCHECK(entry.noted >= entry.dirty);
  std::atomic<uint64_t>& word = entry.frame->first_dirty_lsn;
  uint64_t unchanged = entry.dirty.value() | kCopiedBit;
  if (word.compare_exchange_strong(unchanged, written ? 0 : entry.dirty.value(),
                                   std::memory_order_acq_rel)) {
    if (written) frames_->NoteCleaned();
  } else if (written) {
    // Changed since the copy: dirty from copy time on. If it was discarded, the word has another
    // value (a later change's bound is above `dirty`) and stays.
    uint64_t changed = entry.dirty.value();
    word.compare_exchange_strong(changed, entry.noted.value(), std::memory_order_acq_rel);
  }
  entry.frame->io_in_progress.store(0, std::memory_order_release);
}

}  // namespace rowan
