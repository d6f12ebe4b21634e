// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_purge.h"

#include <algorithm>
#include <array>

#include "base/assertions.h"
#include "base/logging.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr uint32_t kMarkGroupBytes = 256;
/// Pages freed in one group: as many as fit a mini-transaction without allocating.
constexpr size_t kPagesPerGroup = 6;
constexpr uint32_t kFreeGroupBytes = 2048;

bool MustNotRunTwice(UndoType type) {
  return type == UndoType::kBlobDrop || type == UndoType::kExtension;
}

}  // namespace

/// Kept per thread so that a warm purge worker does not allocate.
struct UndoPurge::Scratch {
  std::vector<std::byte> bytes;  ///< the rest of the transaction's records on one page
  UndoRecordCopy record;
  PageNumber next;         ///< where the transaction goes on; kNoPage: it ends here
  bool resumable = false;  ///< the page's summary lets a restart begin inside of it
};

Result<UndoPurge::Step> UndoPurge::PurgeOldest(uint32_t stream_number, Csn horizon, Visit visit,
                                               WorkBudget* budget) {
  UndoStream* stream = streams_->At(stream_number);
  if (stream->history.load(std::memory_order_acquire) == 0) return Step::kNothing;
  if (stream->purging.exchange(true, std::memory_order_acquire)) return Step::kNothing;
  Result<Step> result = Step::kNothing;
  if (!stream->damaged) result = PurgeAcquired(stream, horizon, visit, budget);
  if (!result.ok() && result.status().Is(Code::kCorrupt)) {
    stream->damaged = true;
    LogError(
        "An undo page of stream {} is damaged: what was deleted by the {} transactions from "
        "there on is not removed.",
        stream_number, stream->history.load(std::memory_order_relaxed));
  }
  stream->purging.store(false, std::memory_order_release);
  return result;
}

Status UndoPurge::PurgeOwn(const Txn* txn, Visit visit) {
  WorkBudget unlimited(UINT64_MAX);
  const UndoStream* stream = txn->stream;
  while (stream->history.load(std::memory_order_relaxed) != 0 && !stream->damaged) {
    const Result<Step> step = PurgeOldest(stream->number, Csn(UINT64_MAX), visit, &unlimited);
    if (!step.ok()) return step.status();
  }
  return Status::Ok();
}

Status UndoPurge::MoveToNextPage(UndoStream* stream, PageGuard* guard) {
  // At the end of a page that has a successor: the next header is on the successor.
  while (stream->start.offset == UndoFreeOf(guard->page())) {
    const PageNumber next = UndoNextOf(guard->page());
    if (next == kNoPage) break;
    guard->Release();
    Result<PageGuard> following = space_->FixShared(next);
    if (!following.ok()) return following.status();
    *guard = std::move(following.value());
    stream->start = {next, UndoRecordsBegin(guard->page())};
  }
  return Status::Ok();
}

/// Steps behind the header of the oldest transaction, if it may be purged.
Result<bool> UndoPurge::EnterOldest(UndoStream* stream, Csn horizon) {
  if (stream->oldest_csn != 0 && Csn(stream->oldest_csn) >= horizon) return false;
  Result<PageGuard> guard = space_->FixShared(stream->start.page);
  if (!guard.ok()) return guard.status();
  const Status status = MoveToNextPage(stream, &guard.value());
  if (!status.ok()) return status;
  UndoRecordInPage record;
  TxnHeader header;
  if (!ParseUndoRecord(guard->page(), stream->start.offset, UndoFreeOf(guard->page()), &record) ||
      !ParseTxnHeader(record, &header) || header.state != UndoTxnState::kCommitted) {
    return space_->Damage(stream->start.page,
                          "an undo stream does not go on with a committed transaction");
  }
  stream->oldest_csn = header.csn.value();
  if (header.csn >= horizon) return false;
  stream->purge_txn = header.txn;
  stream->start.offset = static_cast<uint16_t>(stream->start.offset + record.length);
  return true;
}

Result<UndoPurge::Step> UndoPurge::PurgeAcquired(UndoStream* stream, Csn horizon, Visit visit,
                                                 WorkBudget* budget) {
  if (stream->purge_txn == kNoTxn) {
    const Result<bool> entered = EnterOldest(stream, horizon);
    if (!entered.ok()) return entered.status();
    if (!entered.value()) return Step::kNothing;
  }
  thread_local Scratch scratch;
  scratch.resumable = false;
  const Result<Step> step = PurgePages(stream, visit, budget, &scratch);
  Status status = step.status();
  const bool ended = step.ok() && step.value() == Step::kTransaction;
  if (ended || scratch.resumable) KeepFirst(&status, FreeBehind(stream));
  if (!status.ok()) return status;
  return step;
}

/// Page by page until the transaction ends or the budget is used up.
Result<UndoPurge::Step> UndoPurge::PurgePages(UndoStream* stream, Visit visit, WorkBudget* budget,
                                              Scratch* scratch) {
  for (size_t pages = 1;; ++pages) {
    Status status = CopyRecords(stream, scratch);
    if (!status.ok()) return status;
    status = VisitRecords(stream, visit, budget, scratch);
    if (!status.ok()) return status;
    if (!scratch->bytes.empty()) return Step::kPart;
    if (scratch->next == kNoPage) {
      stream->purge_txn = kNoTxn;
      stream->oldest_csn = 0;
      stream->history.fetch_sub(1, std::memory_order_relaxed);
      streams_->SubtractHistory(1);
      return Step::kTransaction;
    }
    Result<PageGuard> next = space_->FixShared(scratch->next);
    if (!next.ok()) return next.status();
    stream->start = {scratch->next, UndoRecordsBegin(next->page())};
    scratch->resumable = HasUndoSummary(next->page());
    next->Release();
    if (pages % kPagesPerGroup != 0 || !scratch->resumable) continue;
    status = FreeBehind(stream);
    if (!status.ok()) return status;
  }
}

/// The transaction's records on the start page from the start on, copied out under one latch.
Status UndoPurge::CopyRecords(UndoStream* stream, Scratch* scratch) {
  const PageNumber page = stream->start.page;
  Result<PageGuard> guard = space_->FixShared(page);
  if (!guard.ok()) return guard.status();
  const std::byte* bytes = guard->page();
  const size_t free = UndoFreeOf(bytes);
  size_t stop = stream->start.offset;
  bool found_header = false;
  UndoRecordInPage record;
  while (stop < free) {
    if (!ParseUndoRecord(bytes, stop, free, &record)) {
      return space_->Damage(page, "an undo record is damaged");
    }
    found_header = record.type == UndoType::kTxnHeader;
    if (found_header) break;
    stop += record.length;
  }
  scratch->bytes.assign(bytes + stream->start.offset, bytes + stop);
  scratch->next = found_header ? kNoPage : UndoNextOf(bytes);
  scratch->resumable = HasUndoSummary(bytes);
  return Status::Ok();
}

/// Visits what was copied; the start moves behind each record. Leaves what the budget was not
/// enough for.
Status UndoPurge::VisitRecords(UndoStream* stream, Visit visit, WorkBudget* budget,
                               Scratch* scratch) {
  const PageNumber page = stream->start.page;
  const std::vector<std::byte>& bytes = scratch->bytes;
  UndoRecordInPage record;
  for (size_t offset = 0; offset < bytes.size(); offset += record.length) {
    if (!budget->Spend()) return Status::Ok();
    ROWAN_CHECK(ParseUndoRecord(bytes.data(), offset, bytes.size(), &record));
    if (!record.done && record.type != UndoType::kXid) {
      scratch->record.type = record.type;
      scratch->record.index = record.index;
      scratch->record.page = space_->IdOf(page);
      scratch->record.payload.assign(record.payload.begin(), record.payload.end());
      Status status = visit(stream->purge_txn, scratch->record);
      if (!status.ok()) return status;
      if (MustNotRunTwice(record.type)) {
        status = MarkDone(page, stream->start.offset, record.type);
        if (!status.ok()) return status;
      }
    }
    stream->start.offset = static_cast<uint16_t>(stream->start.offset + record.length);
  }
  scratch->bytes.clear();
  return Status::Ok();
}

Status UndoPurge::MarkDone(PageNumber page, uint16_t offset, UndoType type) {
  MiniTxn mini_txn(space_->pool());
  const Status status = mini_txn.Start(kMarkGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> held = space_->Fix(&mini_txn, page);
  if (!held.ok()) return held.status();
  const std::array mark{static_cast<std::byte>(static_cast<uint8_t>(type) | kUndoDoneBit)};
  space_->SetBytes(&mini_txn, held.value(), static_cast<uint16_t>(offset + kUndoTypeOffset), mark);
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoPurge::FreeBehind(UndoStream* stream) {
  while (stream->head != stream->start.page) {
    MiniTxn mini_txn(space_->pool());
    Status status = mini_txn.Start(kFreeGroupBytes);
    if (!status.ok()) return status;
    std::array<MutablePage, kPagesPerGroup> dead;
    size_t count = 0;
    PageNumber head = stream->head;
    for (; count < kPagesPerGroup && head != stream->start.page; ++count) {
      // One bitmap page per group: two would be latched in any order.
      const uint32_t group_pages = GroupPages(space_->page_size());
      if (head.value() / group_pages != stream->head.value() / group_pages) break;
      Result<MutablePage> page = space_->Fix(&mini_txn, head);
      if (!page.ok()) return page.status();
      dead[count] = page.value();
      head = UndoNextOf(page->bytes);
      if (head == kNoPage) return space_->Damage(dead[count].id.page, "an undo stream is cut off");
    }
    Result<MutablePage> directory_page = space_->FixDirectory(&mini_txn, stream->number);
    if (!directory_page.ok()) return directory_page.status();
    for (size_t i = 0; i < count; ++i) {
      status = space_->allocator()->Free(&mini_txn, dead[i].id);
      if (!status.ok() && i == 0) return status;
      // Behind the first one something is logged: a page that cannot be freed is lost, not reused.
      if (status.ok()) mini_txn.DiscardAtCommit(dead[i]);
    }
    DirectorySlot slot = space_->SlotIn(directory_page.value(), stream->number);
    slot.head = head;
    slot.start_page = stream->start.page;
    slot.start_offset = stream->start.offset;
    slot.start_is_inside = stream->purge_txn != kNoTxn;
    space_->SetSlot(&mini_txn, directory_page.value(), stream->number, slot);
    mini_txn.Commit();
    stream->head = head;
  }
  return Status::Ok();
}

}  // namespace rowan
