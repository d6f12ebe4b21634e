// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_recovery.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "base/logging.h"

namespace rowan {
namespace {

/// Log bytes of a group that changes one directory slot.
constexpr uint32_t kSlotGroupBytes = 256;

/// What lies between the beginning of a page and an offset.
struct PageFront {
  uint64_t begun = 0;
  TxnId last;  ///< the transaction that the next record belongs to, if it is no header
};

/// False if no record ends at `offset`.
bool ReadFront(const std::byte* page, uint16_t offset, PageFront* front) {
  if (offset < UndoRecordsBegin(page) || offset > UndoFreeOf(page)) return false;
  const UndoSummary summary = LoadUndoSummary(page);
  *front = {summary.begun, summary.txn};
  UndoRecordInPage record;
  size_t position = UndoRecordsBegin(page);
  for (; position < offset; position += record.length) {
    if (!ParseUndoRecord(page, position, offset, &record)) return false;
    if (record.type != UndoType::kTxnHeader) continue;
    TxnHeader header;
    if (!ParseTxnHeader(record, &header)) return false;
    ++front->begun;
    front->last = header.txn;
  }
  return true;
}

}  // namespace

Result<bool> UndoRecovery::RecoverFromSummaries(const DirectorySlot& slot, UndoStream* stream,
                                                UndoScan* scan) {
  if (slot.tail == kNoPage) return false;
  PageFront front;
  {
    Result<PageGuard> start = space_->FixShared(slot.start_page);
    if (!start.ok()) return start.status();
    if (!HasUndoSummary(start->page())) return false;
    if (UndoStreamOf(start->page()) != stream->number) {
      return space_->Damage(slot.start_page, "it belongs to another stream");
    }
    if (!ReadFront(start->page(), slot.start_offset, &front)) {
      return space_->Damage(slot.start_page, "a stream begins outside of the page's records");
    }
  }
  if (slot.start_is_inside) stream->purge_txn = front.last;
  UndoSummary summary;
  {
    Result<PageGuard> tail = space_->FixShared(slot.tail);
    if (!tail.ok()) return tail.status();
    const std::byte* bytes = tail->page();
    if (!HasUndoSummary(bytes)) return false;
    if (UndoStreamOf(bytes) != stream->number || UndoNextOf(bytes) != kNoPage) {
      return space_->Damage(slot.tail, "it is not the tail of its undo stream");
    }
    summary = LoadUndoSummary(bytes);
    // Until its header is read, the transaction that continues here counts as committed.
    scan->header = {.txn = summary.txn, .state = UndoTxnState::kCommitted, .csn = {}, .xid = {}};
    scan->records = summary.records;
    const Status status = scan->WalkPage(*space_, slot.tail, bytes, UndoRecordsBegin(bytes));
    if (!status.ok()) return status;
    stream->SetTail(slot.tail, bytes);
    stream->begun = summary.begun + scan->begun;
  }
  const bool purged = slot.start_page == slot.tail || stream->purge_txn == summary.txn;
  if (scan->begun == 0 && summary.txn != kNoTxn && !purged) {
    const Status status = LoadLastHeader(summary.header, scan);
    if (!status.ok()) return status;
  }
  const uint64_t to_purge = front.begun + (scan->unfinished() ? 1 : 0);
  if (stream->begun < to_purge) {
    return space_->Damage(slot.tail, "the summary of what is in front of an undo page is wrong");
  }
  const uint64_t inside = stream->purge_txn != kNoTxn ? 1 : 0;
  stream->history.store(stream->begun - to_purge + inside, std::memory_order_relaxed);
  return true;
}

Status UndoRecovery::LoadLastHeader(UndoPointer pointer, UndoScan* scan) {
  Result<PageGuard> guard = space_->FixShared(pointer.page);
  if (!guard.ok()) return guard.status();
  const TxnId txn = scan->header.txn;
  UndoRecordInPage record;
  if (pointer.offset < UndoRecordsBegin(guard->page()) ||
      !ParseUndoRecord(guard->page(), pointer.offset, UndoFreeOf(guard->page()), &record) ||
      !ParseTxnHeader(record, &scan->header) || scan->header.txn != txn) {
    return space_->Damage(pointer.page, "the header of a transaction is damaged");
  }
  scan->position = {pointer.page, pointer.offset};
  scan->txn_max = txn.value();
  if (!scan->unfinished()) scan->csn_max = scan->header.csn.value();
  return Status::Ok();
}

Status UndoRecovery::RecoverByWalk(const DirectorySlot& slot, UndoStream* stream, UndoScan* scan) {
  bool behind_start = false;
  uint64_t begun_before = 0;  // before the start, as far as summaries tell
  bool met_summary = false;
  PageNumber previous = kNoPage;
  for (PageNumber page = slot.head; page != kNoPage;) {
    Result<PageGuard> guard = space_->FixShared(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (UndoStreamOf(bytes) != stream->number) {
      return space_->Damage(page, "it belongs to another stream");
    }
    if (previous != kNoPage && UndoPreviousOf(bytes) != previous) {
      return space_->Damage(page, "its link to its predecessor is wrong");
    }
    const bool at_start = page == slot.start_page;
    const uint16_t begin = at_start ? slot.start_offset : UndoRecordsBegin(bytes);
    if (begin < UndoRecordsBegin(bytes) || begin > UndoFreeOf(bytes)) {
      return space_->Damage(page, "a stream begins outside of the page's records");
    }
    behind_start = behind_start || at_start;
    if (behind_start && !met_summary && HasUndoSummary(bytes)) {
      met_summary = true;
      begun_before = LoadUndoSummary(bytes).begun - scan->begun;
    }
    if (behind_start) {
      const Status status = scan->WalkPage(*space_, page, bytes, begin);
      if (!status.ok()) return status;
    }
    stream->SetTail(page, bytes);
    previous = page;
    page = UndoNextOf(bytes);
  }
  if (!behind_start)
    return space_->Damage(slot.start_page, "a stream does not reach its start page");
  stream->begun = begun_before + scan->begun;
  stream->history.store(scan->committed, std::memory_order_relaxed);
  return Status::Ok();
}

Status UndoRecovery::CompleteSlot(UndoStream* stream) {
  MiniTxn mini_txn(space_->pool());
  const Status status = mini_txn.Start(kSlotGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = space_->FixDirectory(&mini_txn, stream->number);
  if (!page.ok()) return page.status();
  space_->SetTail(&mini_txn, page.value(), stream->number, stream->tail);
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoRecovery::RecoverStream(uint32_t number, const DirectorySlot& slot) {
  auto made = std::make_unique<UndoStream>();
  UndoStream* stream = made.get();
  stream->number = number;
  stream->head = slot.head;
  stream->start = {slot.start_page, slot.start_offset};
  streams_->Add(std::move(made));
  UndoScan scan;
  const Result<bool> summed_up = RecoverFromSummaries(slot, stream, &scan);
  if (!summed_up.ok()) return summed_up.status();
  if (!summed_up.value()) {
    scan = {};
    Status status = RecoverByWalk(slot, stream, &scan);
    if (!status.ok()) return status;
    if (slot.tail == kNoPage) {
      status = CompleteSlot(stream);
      if (!status.ok()) return status;
    }
  }
  const uint64_t history = stream->history.load(std::memory_order_relaxed);
  streams_->AddHistory(history);
  stream->history_of_last_run.store(history, std::memory_order_relaxed);
  txn_max_ = std::max(txn_max_, scan.txn_max);
  csn_max_ = std::max(csn_max_, scan.csn_max);
  if (scan.unfinished()) return MakeUnfinished(stream, scan);
  streams_->Release(stream);
  return Status::Ok();
}

Status UndoRecovery::LoadXid(UndoPointer pointer, Txn* txn) const {
  Result<PageGuard> guard = space_->FixShared(pointer.page);
  if (!guard.ok()) return guard.status();
  const std::byte* bytes = guard->page();
  const size_t end = UndoFreeOf(bytes);
  UndoRecordInPage record;
  if (!ParseUndoRecord(bytes, pointer.offset, end, &record) || record.type != UndoType::kXid) {
    return space_->Damage(pointer.page, "a prepared transaction has no XID");
  }
  txn->xid.assign(AsText(record.payload));
  const size_t behind = pointer.offset + record.length;
  if (behind == end) {
    guard->Release();
    return CollectIndexes(txn);
  }
  if (!ParseUndoRecord(bytes, behind, end, &record) || record.type != UndoType::kXid ||
      record.index != kXidIndexes || !txn->undo.indexes.Decode(record.payload)) {
    return space_->Damage(pointer.page, "the list of what a transaction changed is damaged");
  }
  return Status::Ok();
}

Status UndoRecovery::CollectIndexes(Txn* txn) const {
  size_t offset = txn->undo.header.offset;
  for (PageNumber page = txn->undo.header.page; page != kNoPage;) {
    Result<PageGuard> guard = space_->FixShared(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (offset == 0) offset = UndoRecordsBegin(bytes);
    UndoRecordInPage record;
    for (; offset < UndoFreeOf(bytes); offset += record.length) {
      if (!ParseUndoRecord(bytes, offset, UndoFreeOf(bytes), &record)) {
        return space_->Damage(page, "an undo record is damaged");
      }
      txn->undo.indexes.Note(record.index);
    }
    offset = 0;
    page = UndoNextOf(bytes);
  }
  return Status::Ok();
}

Status UndoRecovery::MakeUnfinished(UndoStream* stream, const UndoScan& scan) {
  auto txn = std::make_unique<Txn>();
  txn->id.store(scan.header.txn.value(), std::memory_order_relaxed);
  ROWAN_DCHECK(scan.header.txn != kNoTxn && !scan.position.IsNone());
  ROWAN_DCHECK(stream->tail != kNoPage && stream->free >= stream->begin);
  txn->state = TxnState::kActive;
  txn->undo.stream = stream;
  txn->undo.header = scan.position;
  txn->undo.records = scan.records;
  txn->undo.bytes = scan.bytes;
  txn->recovered = true;
  if (scan.header.state == UndoTxnState::kPrepared) {
    txn->state = TxnState::kPrepared;
    const Status status = LoadXid(scan.header.xid, txn.get());
    if (!status.ok()) return status;
  }
  unfinished_.push_back(std::move(txn));
  return Status::Ok();
}

Status UndoRecovery::Run(OnDamage on_damage) {
  std::vector<std::pair<uint32_t, DirectorySlot>> slots;
  Status status = space_->LoadDirectory(&slots);
  if (status.Is(Code::kCorrupt) && on_damage == OnDamage::kLeaveDirectory) {
    LogError(
        "The undo directory is damaged: what it does not tell of is not rolled back if it was "
        "unfinished.");
  } else if (!status.ok()) {
    return status;
  }
  std::vector<PageId> ends;
  for (const auto& [number, slot] : slots) {
    ends.push_back(space_->IdOf(slot.start_page));
    if (slot.tail != kNoPage && slot.tail != slot.start_page) {
      ends.push_back(space_->IdOf(slot.tail));
    }
  }
  space_->pool()->Prefetch(ends);
  for (const auto& [number, slot] : slots) {
    // Streams are created in order and never dropped.
    if (number != streams_->stream_count()) {
      return space_->Damage(slot.head, "the undo directory has a gap");
    }
    status = RecoverStream(number, slot);
    if (status.Is(Code::kCorrupt) && on_damage != OnDamage::kRefuse) {
      // It stays listed but unused: no transaction gets it, and nothing of it is purged.
      streams_->MarkDamaged(streams_->At(number));
      LogError(
          "Undo stream {} is left alone: the last transaction in it is not rolled back if it "
          "was unfinished.",
          number);
      continue;
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
