// SPDX-License-Identifier: GPL-2.0-only
// Finding the streams again after a restart, and checking them.
#include <algorithm>

#include "base/assertions.h"
#include "base/logging.h"
#include "mvcc/undo_impl.h"

namespace rowan {

/// What a walk over a stream's records has met so far.
struct UndoStreams::Impl::StreamScan {
  TxnHeader header;          ///< of the newest transaction
  UndoPosition begin;        ///< where it stands
  uint64_t records = 0;      ///< of the newest transaction
  uint64_t bytes = 0;
  uint64_t committed = 0;
  uint64_t txn_max = 0;
  uint64_t csn_max = 0;
  uint64_t pages = 0;
  std::vector<IndexId> indexes;  ///< changed by the newest transaction, if it is prepared

  /// Neighbouring records mostly belong to the same few indexes.
  void NoteIndex(IndexId index) {
    if (header.state != UndoTxnState::kPrepared || index == IndexId(0)) return;
    if (std::find(indexes.rbegin(), indexes.rend(), index) == indexes.rend()) {
      indexes.push_back(index);
    }
  }

  [[nodiscard]] bool unfinished() const {
    return header.txn != kNoTxn && header.state != UndoTxnState::kCommitted;
  }
};

Status UndoStreams::Impl::ReadDirectory(
    std::vector<std::pair<uint32_t, DirectorySlot>>* slots) {
  Result<uint64_t> first = allocator->ReadCounter(kUndoSpace);
  if (!first.ok()) return first.status();
  directory.clear();
  uint32_t slot_number = 0;
  for (PageNumber page(static_cast<uint32_t>(first.value())); page != kNoPage;) {
    Result<PageGuard> guard = pool->Fix(IdOf(page), LatchMode::kShared);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (!IsUndoDirectoryPage(bytes) ||
        LoadLe<uint32_t>(bytes + kDirectoryFirstOffset) != slot_number) {
      return Damage(page, "the page is not the next undo directory page");
    }
    directory.push_back(page);
    for (uint32_t i = 0; i < DirectorySlotsPerPage(page_size()); ++i, ++slot_number) {
      const DirectorySlot slot =
          LoadDirectorySlot(bytes + kDirectorySlotsOffset + i * kDirectorySlotBytes);
      if (slot.head != kNoPage) slots->emplace_back(slot_number, slot);
    }
    page = PageNumber(LoadLe<uint32_t>(bytes + kDirectoryNextOffset));
  }
  return directory.empty() ? Status(Code::kCorrupt, "the undo space has no directory")
                           : Status::Ok();
}

Status UndoStreams::Impl::ScanPage(PageNumber page, const std::byte* bytes, uint16_t begin,
                                   StreamScan* scan) {
  const size_t free = UndoFreeOf(bytes);
  UndoRecordInPage record;
  for (size_t offset = begin; offset < free; offset += record.length) {
    if (!ParseUndoRecord(bytes, offset, free, &record)) {
      return Damage(page, "an undo record is damaged");
    }
    if (record.type != UndoType::kTxnHeader) {
      if (scan->header.txn == kNoTxn) return Damage(page, "an undo record has no transaction");
      if (record.type != UndoType::kXid) ++scan->records;
      scan->bytes += record.length;
      scan->NoteIndex(record.index);
      continue;
    }
    if (scan->unfinished()) return Damage(page, "a transaction begins before the last one ended");
    const Csn last_csn = scan->header.csn;
    if (!ParseTxnHeader(record, &scan->header)) {
      return Damage(page, "the header of a transaction is damaged");
    }
    scan->txn_max = std::max(scan->txn_max, scan->header.txn.value());
    if (scan->header.state == UndoTxnState::kCommitted) {
      if (scan->header.csn <= last_csn) return Damage(page, "commits are out of order");
      scan->csn_max = std::max(scan->csn_max, scan->header.csn.value());
      ++scan->committed;
    }
    scan->begin = {page, static_cast<uint16_t>(offset), 0};
    scan->records = 0;
    scan->bytes = 0;
    scan->indexes.clear();
  }
  return Status::Ok();
}

Status UndoStreams::Impl::RecoverStream(uint32_t number, const DirectorySlot& slot,
                                        StreamScan* scan) {
  auto stream = std::make_unique<UndoStream>();
  stream->number = number;
  stream->head = slot.head;
  stream->start = {slot.start_page, slot.start_offset};
  bool behind_start = false;
  PageNumber previous = kNoPage;
  for (PageNumber page = slot.head; page != kNoPage;) {
    Result<PageGuard> guard = Look(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (UndoStreamOf(bytes) != number) return Damage(page, "the page belongs to another stream");
    if (previous != kNoPage && UndoPreviousOf(bytes) != previous) {
      return Damage(page, "the page's link to its predecessor is wrong");
    }
    const bool at_start = page == slot.start_page;
    behind_start = behind_start || at_start;
    if (at_start && (slot.start_offset < kUndoRecordsOffset ||
                     slot.start_offset > UndoFreeOf(bytes))) {
      return Damage(page, "a stream begins outside of the page's records");
    }
    if (behind_start) {
      const Status status =
          ScanPage(page, bytes, at_start ? slot.start_offset : uint16_t{kUndoRecordsOffset}, scan);
      if (!status.ok()) return status;
    }
    ++scan->pages;
    stream->tail = page;
    stream->free = UndoFreeOf(bytes);
    previous = page;
    page = UndoNextOf(bytes);
  }
  if (!behind_start) return Damage(slot.start_page, "a stream does not reach its start page");
  stream->history.store(scan->committed, std::memory_order_relaxed);
  history.fetch_add(scan->committed, std::memory_order_relaxed);
  pages.fetch_add(scan->pages, std::memory_order_relaxed);
  AddStream(std::move(stream));
  return Status::Ok();
}

Status UndoStreams::Impl::MakeUnfinished(UndoStream* stream, const StreamScan& scan,
                                         std::vector<std::unique_ptr<Txn>>* unfinished) {
  auto txn = std::make_unique<Txn>();
  txn->id.store(scan.header.txn.value(), std::memory_order_relaxed);
  txn->state = TxnState::kActive;
  txn->stream = stream;
  txn->undo_start = scan.begin;
  txn->undo_end = {stream->tail, stream->free, scan.records};
  txn->undo_records = scan.records;
  txn->undo_bytes = scan.bytes;
  txn->recovered = true;
  if (scan.header.state == UndoTxnState::kPrepared) {
    txn->state = TxnState::kPrepared;
    Result<PageGuard> guard = Look(scan.header.xid.page);
    if (!guard.ok()) return guard.status();
    UndoRecordInPage record;
    if (!ParseUndoRecord(guard->page(), scan.header.xid.offset, UndoFreeOf(guard->page()),
                         &record) ||
        record.type != UndoType::kXid) {
      return Damage(scan.header.xid.page, "a prepared transaction has no XID");
    }
    txn->xid.assign(AsText(record.payload));
    txn->changed_indexes = scan.indexes;
  }
  unfinished->push_back(std::move(txn));
  return Status::Ok();
}

Status UndoStreams::Recover(std::vector<std::unique_ptr<Txn>>* unfinished, TxnId* txn_max,
                            Csn* csn_max) {
  std::vector<std::pair<uint32_t, DirectorySlot>> slots;
  Status status = impl_->ReadDirectory(&slots);
  if (!status.ok()) return status;
  *txn_max = kNoTxn;
  *csn_max = Csn(0);
  for (const auto& [number, slot] : slots) {
    // Streams are created in order and never dropped.
    if (number != impl_->stream_count.load(std::memory_order_relaxed)) {
      return impl_->Damage(slot.head, "the undo directory has a gap");
    }
    Impl::StreamScan scan;
    status = impl_->RecoverStream(number, slot, &scan);
    if (!status.ok()) return status;
    *txn_max = std::max(*txn_max, TxnId(scan.txn_max));
    *csn_max = std::max(*csn_max, Csn(scan.csn_max));
    UndoStream* stream = impl_->StreamAt(number);
    if (!scan.unfinished()) {
      impl_->GiveStream(stream);
      continue;
    }
    status = impl_->MakeUnfinished(stream, scan, unfinished);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UndoStreams::Check(const PageVisit& visit_page, bool* passed_over) {
  if (passed_over != nullptr) *passed_over = false;
  if (visit_page) std::for_each(impl_->directory.begin(), impl_->directory.end(), visit_page);
  const uint32_t count = stream_count();
  for (uint32_t number = 0; number < count; ++number) {
    UndoStream* stream = impl_->StreamAt(number);
    if (stream->purging.exchange(true, std::memory_order_acquire)) {  // purge checks it
      if (passed_over != nullptr) *passed_over = true;
      continue;
    }
    Status status = impl_->CheckLinks(stream, visit_page);
    if (status.ok()) status = impl_->CheckStream(stream, visit_page);
    stream->purging.store(false, std::memory_order_release);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UndoStreams::Impl::CheckLinks(UndoStream* stream, const PageVisit& visit_page) {
  // From the head to where the records begin: pages that purge is done with and has not freed yet.
  for (PageNumber page = stream->head; page != stream->start.page;) {
    if (page == kNoPage) return Damage(stream->head, "a stream does not reach its start page");
    Result<PageGuard> guard = Look(page);
    if (!guard.ok()) return guard.status();
    if (UndoStreamOf(guard->page()) != stream->number) {
      return Damage(page, "the page belongs to another stream");
    }
    if (visit_page) visit_page(page);
    page = UndoNextOf(guard->page());
  }
  return Status::Ok();
}

Status UndoStreams::Impl::CheckStream(UndoStream* stream, const PageVisit& visit_page) {
  StreamScan scan;
  // Each page is latched before its predecessor is given back, in chain order: neither a growing
  // nor a shrinking tail can get between.
  PageGuard previous;
  for (PageNumber page = stream->start.page; page != kNoPage;) {
    Result<PageGuard> guard = Look(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (UndoStreamOf(bytes) != stream->number) {
      return Damage(page, "the page belongs to another stream");
    }
    Result<bool> allocated = allocator->IsAllocated(IdOf(page));
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) return Damage(page, "an undo page in use is marked free");
    const uint16_t begin =
        page == stream->start.page ? stream->start.offset : uint16_t{kUndoRecordsOffset};
    const Status status = ScanPage(page, bytes, begin, &scan);
    if (!status.ok()) return status;
    if (visit_page) visit_page(page);
    page = UndoNextOf(bytes);
    previous = std::move(guard.value());
  }
  return Status::Ok();
}

}  // namespace rowan
