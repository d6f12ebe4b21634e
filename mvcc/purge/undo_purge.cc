// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/purge/undo_purge.h"

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

/// A transaction longer than this is worth sharing; for most others no helper would come in time.
constexpr size_t kPagesAlone = 4;

/// Kept per thread so that a warm purge worker does not allocate.
UndoRun& ThreadRun() {
  thread_local UndoRun run;
  return run;
}

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
  bool shared = false;
  if (!stream->damaged.load(std::memory_order_relaxed)) {
    result = PurgeAcquired(stream, horizon, visit, budget, &shared);
  }
  if (shared) return result;  // the last worker in the window has returned it
  if (!result.ok()) NoteDamage(stream, result.status()).Ignore();
  stream->blocked.store(!result.ok(), std::memory_order_relaxed);
  stream->purging.store(false, std::memory_order_release);
  return result;
}

Result<UndoPurge::Step> UndoPurge::Help(uint32_t stream_number, Visit visit, WorkBudget* budget) {
  UndoStream* stream = streams_->At(stream_number);
  if (!stream->window.Join()) return Step::kNothing;
  return PurgeShared(stream, visit, budget, &ThreadRun());
}

Status UndoPurge::NoteDamage(UndoStream* stream, Status status) {
  if (!status.Is(Code::kCorrupt) || !streams_->MarkDamaged(stream)) return status;
  LogError(
      "An undo page of stream {} is damaged: what was deleted by the {} transactions from "
      "there on is not removed, and no more are written to the stream. See \"Damage in undo\" in "
      "docs/durability.md.",
      stream->number, stream->history.load(std::memory_order_relaxed));
  return status;
}

Status UndoPurge::PurgeOwn(const Txn* txn, Visit visit, WorkBudget* budget) {
  const UndoStream* stream = txn->undo.stream;
  while (stream->history.load(std::memory_order_relaxed) != 0 && !budget->exhausted() &&
         !stream->damaged.load(std::memory_order_relaxed)) {
    const Result<Step> step = PurgeOldest(stream->number, Csn(UINT64_MAX), visit, budget);
    if (!step.ok()) return step.status();
  }
  return Status::Ok();
}

/// Steps past the header of the oldest transaction, if it may be purged.
Result<bool> UndoPurge::EnterOldest(UndoStream* stream, Csn horizon) {
  ROWAN_DCHECK(stream->purging.load(std::memory_order_relaxed) && stream->purge_txn == kNoTxn);
  const uint64_t known = stream->oldest_csn.load(std::memory_order_relaxed);
  if (known != 0 && Csn(known) >= horizon) return false;
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
  ROWAN_DCHECK(header.csn != Csn(0) && (known == 0 || known == header.csn.value()));
  stream->oldest_csn.store(header.csn.value(), std::memory_order_relaxed);
  if (header.csn >= horizon) return false;
  stream->purge_txn = header.txn;
  stream->start.offset = static_cast<uint16_t>(stream->start.offset + length);
  return true;
}

/// *shared: the stream is no longer the caller's.
Result<UndoPurge::Step> UndoPurge::PurgeAcquired(UndoStream* stream, Csn horizon, Visit visit,
                                                 WorkBudget* budget, bool* shared) {
  ROWAN_DCHECK(stream->purging.load(std::memory_order_relaxed) && !stream->window.open());
  const bool resumed = stream->purge_txn != kNoTxn;
  if (!resumed) {
    const Result<bool> entered = EnterOldest(stream, horizon);
    if (!entered.ok()) return entered.status();
    if (!entered.value()) return Step::kNothing;
  }
  UndoRun& run = ThreadRun();
  run.resumable = false;
  const Result<Step> step = PurgePages(stream, visit, budget, &run);
  if (step.ok() && step.value() == Step::kShared) {
    *shared = true;
    stream->window.Open(stream->start, run.resumable);
    return PurgeShared(stream, visit, budget, &run);
  }
  Status status = step.status();
  const bool ended = step.ok() && step.value() == Step::kTransaction;
  if (ended || run.resumable) KeepFirst(&status, FreeBehind(stream));
  if (!status.ok()) return status;
  return step;
}

/// Page by page until the transaction ends, the budget is used up, or it turns out to be long.
Result<UndoPurge::Step> UndoPurge::PurgePages(UndoStream* stream, Visit visit, WorkBudget* budget,
                                              UndoRun* run) {
  for (size_t pages = 1;; ++pages) {
    Status status = CopyUndoRun(space_, stream->start, run);
    if (!status.ok()) return status;
    status = VisitRun(stream, &stream->start, visit, budget, run);
    if (!status.ok()) return status;
    if (!run->bytes.empty()) return Step::kPart;
    if (run->next == kNoPage) {
      EndTransaction(stream);
      return Step::kTransaction;
    }
    Result<PageGuard> next = space_->FixShared(run->next);
    if (!next.ok()) return next.status();
    stream->start = {run->next, UndoRecordsBegin(next->page())};
    run->resumable = HasUndoSummary(next->page());
    next->Release();
    if (pages >= kPagesAlone) return Step::kShared;
  }
}

/// Purges together with the others in the window; the caller is inside.
Result<UndoPurge::Step> UndoPurge::PurgeShared(UndoStream* stream, Visit visit, WorkBudget* budget,
                                               UndoRun* run) {
  Status status = PurgeWindowPages(stream, visit, budget, run);
  PurgeWindow::Outcome outcome;
  if (stream->window.Leave(!status.ok(), &outcome)) {
    const Result<Step> closed = CloseWindow(stream, outcome);
    KeepFirst(&status, closed.status());
    if (status.ok()) return closed;
  }
  if (!status.ok()) return status;
  return budget->exhausted() ? Step::kPart : Step::kShared;
}

Status UndoPurge::PurgeWindowPages(UndoStream* stream, Visit visit, WorkBudget* budget,
                                   UndoRun* run) {
  while (!budget->exhausted()) {
    UndoPointer position;
    const Result<bool> taken = stream->window.Take(space_, run, &position);
    if (!taken.ok() || !taken.value()) return taken.status();
    const Status status = VisitRun(stream, &position, visit, budget, run);
    stream->window.GiveBack(position, status.ok() && run->bytes.empty());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// Called by the last worker in the window, which now has the stream and returns it.
Result<UndoPurge::Step> UndoPurge::CloseWindow(UndoStream* stream,
                                               const PurgeWindow::Outcome& outcome) {
  ROWAN_DCHECK(stream->purging.load(std::memory_order_relaxed) && !stream->window.open());
  stream->start = outcome.start;
  Status status = NoteDamage(stream, outcome.status);
  if (outcome.ended) EndTransaction(stream);
  if (outcome.ended || outcome.resumable) KeepFirst(&status, FreeBehind(stream));
  // What one worker could not do another may have done.
  const bool blocked = !status.ok() || (outcome.failed && !outcome.ended);
  stream->blocked.store(blocked, std::memory_order_relaxed);
  stream->purging.store(false, std::memory_order_release);
  if (!status.ok()) return status;
  return outcome.ended ? Step::kTransaction : Step::kShared;
}

void UndoPurge::EndTransaction(UndoStream* stream) {
  ROWAN_DCHECK(stream->purging.load(std::memory_order_relaxed) && stream->purge_txn != kNoTxn);
  ROWAN_DCHECK(stream->history.load(std::memory_order_relaxed) != 0);
  stream->purge_txn = kNoTxn;
  stream->oldest_csn.store(0, std::memory_order_relaxed);
  stream->history.fetch_sub(1, std::memory_order_relaxed);
  if (stream->history_of_last_run.load(std::memory_order_relaxed) != 0) {
    stream->history_of_last_run.fetch_sub(1, std::memory_order_release);
  }
  streams_->SubtractHistory(1);
}

/// Visits the copied records from `*position` on, which moves past each record. Leaves what exceeds
/// the budget.
Status UndoPurge::VisitRun(UndoStream* stream, UndoPointer* position, Visit visit,
                           WorkBudget* budget, UndoRun* run) {
  uint64_t visited = 0;
  const Status status = VisitRecords(stream, position, visit, budget, run, &visited);
  UndoStreams::SubtractRecords(stream, visited);
  return status;
}

Status UndoPurge::VisitRecords(UndoStream* stream, UndoPointer* position, Visit visit,
                               WorkBudget* budget, UndoRun* run, uint64_t* visited) {
  ROWAN_DCHECK(stream->purge_txn != kNoTxn);
  const std::vector<std::byte>& bytes = run->bytes;
  UndoRecordInPage record;
  const auto leave = [&](size_t offset) {
    run->bytes.erase(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(offset));
    return Status::Ok();
  };
  for (size_t offset = 0; offset < bytes.size(); offset += record.length) {
    if (!budget->Spend()) return leave(offset);
    ROWAN_CHECK(ParseUndoRecord(bytes.data(), offset, bytes.size(), &record));
    if (!record.done && record.type != UndoType::kXid) {
      run->record.Assign(record, space_->IdOf(position->page));
      Status status = visit(stream->purge_txn, run->record);
      if (budget->Left(status)) return leave(offset);
      if (!status.ok()) return status;
      if (MustNotRunTwice(record.type)) {
        status = MarkDone(position->page, position->offset, record.type);
        if (!status.ok()) return status;
      }
    }
    ++*visited;
    position->offset = static_cast<uint16_t>(position->offset + record.length);
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
  ROWAN_DCHECK(MustNotRunTwice(type) && (static_cast<uint8_t>(type) & ~kUndoTypeMask) == 0);
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
      // After the first one something is logged: a page that cannot be freed is lost, not reused.
      if (status.ok()) mini_txn.DiscardAtCommit(dead[i]);
    }
    DirectorySlot slot = space_->SlotIn(directory_page.value(), stream->number);
    ROWAN_DCHECK(slot.head == stream->head && count != 0);
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
