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

/// Steps behind the header of the oldest transaction, if it may be purged.
Result<bool> UndoPurge::EnterOldest(UndoStream* stream, Csn horizon) {
  if (stream->oldest_csn != 0 && Csn(stream->oldest_csn) >= horizon) return false;
  Result<PageGuard> guard = space_->FixShared(stream->start.page);
  if (!guard.ok()) return guard.status();
  Status status = MoveToNextUndoPage(space_, &stream->start, &guard.value());
  if (!status.ok()) return status;
  TxnHeader header;
  uint16_t length = 0;
  status = ReadTxnHeader(space_, guard.value(), stream->start, &header, &length);
  if (!status.ok()) return status;
  if (header.state != UndoTxnState::kCommitted) {
    return space_->Damage(stream->start.page,
                          "an undo stream does not go on with a committed transaction");
  }
  stream->oldest_csn = header.csn.value();
  if (header.csn >= horizon) return false;
  stream->purge_txn = header.txn;
  stream->start.offset = static_cast<uint16_t>(stream->start.offset + length);
  return true;
}

Result<UndoPurge::Step> UndoPurge::PurgeAcquired(UndoStream* stream, Csn horizon, Visit visit,
                                                 WorkBudget* budget) {
  if (stream->purge_txn == kNoTxn) {
    const Result<bool> entered = EnterOldest(stream, horizon);
    if (!entered.ok()) return entered.status();
    if (!entered.value()) return Step::kNothing;
  }
  thread_local UndoRun run;
  run.resumable = false;
  const Result<Step> step = PurgePages(stream, visit, budget, &run);
  Status status = step.status();
  const bool ended = step.ok() && step.value() == Step::kTransaction;
  if (ended || run.resumable) KeepFirst(&status, FreeBehind(stream));
  if (!status.ok()) return status;
  return step;
}

/// Page by page until the transaction ends or the budget is used up.
Result<UndoPurge::Step> UndoPurge::PurgePages(UndoStream* stream, Visit visit, WorkBudget* budget,
                                              UndoRun* run) {
  for (size_t pages = 1;; ++pages) {
    Status status = CopyUndoRun(space_, stream->start, run);
    if (!status.ok()) return status;
    status = VisitRecords(stream, visit, budget, run);
    if (!status.ok()) return status;
    if (!run->bytes.empty()) return Step::kPart;
    if (run->next == kNoPage) {
      stream->purge_txn = kNoTxn;
      stream->oldest_csn = 0;
      stream->history.fetch_sub(1, std::memory_order_relaxed);
      streams_->SubtractHistory(1);
      return Step::kTransaction;
    }
    Result<PageGuard> next = space_->FixShared(run->next);
    if (!next.ok()) return next.status();
    stream->start = {run->next, UndoRecordsBegin(next->page())};
    run->resumable = HasUndoSummary(next->page());
    next->Release();
    if (pages % kPagesPerGroup != 0 || !run->resumable) continue;
    status = FreeBehind(stream);
    if (!status.ok()) return status;
  }
}

/// Visits what was copied; the start moves behind each record. Leaves what the budget was not
/// enough for.
Status UndoPurge::VisitRecords(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run) {
  const PageNumber page = stream->start.page;
  const std::vector<std::byte>& bytes = run->bytes;
  UndoRecordInPage record;
  for (size_t offset = 0; offset < bytes.size(); offset += record.length) {
    if (!budget->Spend()) return Status::Ok();
    ROWAN_CHECK(ParseUndoRecord(bytes.data(), offset, bytes.size(), &record));
    if (!record.done && record.type != UndoType::kXid) {
      run->record.type = record.type;
      run->record.index = record.index;
      run->record.page = space_->IdOf(page);
      run->record.payload.assign(record.payload.begin(), record.payload.end());
      Status status = visit(stream->purge_txn, run->record);
      if (!status.ok()) return status;
      if (MustNotRunTwice(record.type)) {
        status = MarkDone(page, stream->start.offset, record.type);
        if (!status.ok()) return status;
      }
    }
    stream->start.offset = static_cast<uint16_t>(stream->start.offset + record.length);
  }
  run->bytes.clear();
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
