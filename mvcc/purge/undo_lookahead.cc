// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/purge/undo_lookahead.h"

#include "base/assertions.h"

namespace rowan {

Status UndoLookahead::Look(uint32_t stream_number, Csn limit, Visit visit, WorkBudget* budget) {
  UndoStream* stream = streams_->At(stream_number);
  if (stream->history.load(std::memory_order_acquire) == 0) return Status::Ok();
  if (stream->purging.exchange(true, std::memory_order_acquire)) return Status::Ok();
  Status status;
  // A known CSN means that purge waits before this transaction.
  const bool waits = stream->purge_txn == kNoTxn && stream->oldest_csn.load() != 0;
  if (waits && !stream->damaged.load()) status = LookAcquired(stream, limit, visit, budget);
  stream->purging.store(false, std::memory_order_release);
  return status;
}

Status UndoLookahead::LookAcquired(UndoStream* stream, Csn limit, Visit visit, WorkBudget* budget) {
  ROWAN_DCHECK(stream->purging.load() && stream->purge_txn == kNoTxn);
  UndoStream::Ahead& ahead = stream->ahead;
  if (ahead.csn < stream->oldest_csn.load(std::memory_order_relaxed)) {
    // Purge has overtaken, and freed the pages that this pointed to.
    ahead = {.position = stream->start, .txn = kNoTxn, .csn = 0};
  }
  thread_local UndoRun run;
  while (!budget->exhausted()) {
    if (ahead.txn == kNoTxn) {
      const Result<bool> entered = EnterNext(stream, limit);
      if (!entered.ok() || !entered.value()) return entered.status();
    }
    Status status = CopyUndoRun(space_, ahead.position, &run);
    if (!status.ok()) return status;
    status = VisitRun(stream, visit, budget, &run);
    if (!status.ok()) return status;
    if (!run.bytes.empty()) return Status::Ok();
    if (run.next == kNoPage) {
      ahead.txn = kNoTxn;
      continue;
    }
    Result<PageGuard> next = space_->FixShared(run.next);
    if (!next.ok()) return next.status();
    ROWAN_DCHECK(run.next != ahead.position.page);
    ahead.position = {run.next, UndoRecordsBegin(next->page())};
  }
  return Status::Ok();
}

/// Steps past the header of the next transaction, if it may be looked at.
Result<bool> UndoLookahead::EnterNext(UndoStream* stream, Csn limit) {
  UndoStream::Ahead& ahead = stream->ahead;
  Result<PageGuard> guard = space_->FixShared(ahead.position.page);
  if (!guard.ok()) return guard.status();
  Status status = MoveToNextUndoPage(space_, &ahead.position, &guard.value());
  if (!status.ok()) return status;
  if (ahead.position.offset == UndoFreeOf(guard->page())) return false;  // the end of the stream
  TxnHeader header;
  uint16_t length = 0;
  status = ReadTxnHeader(space_, guard.value(), ahead.position, &header, &length);
  if (!status.ok()) return status;
  if (header.state != UndoTxnState::kCommitted || header.csn >= limit) return false;
  ahead.txn = header.txn;
  ROWAN_DCHECK(header.csn.value() > ahead.csn);
  ahead.csn = header.csn.value();
  ahead.position.offset = static_cast<uint16_t>(ahead.position.offset + length);
  return true;
}

/// Leaves what exceeds the budget.
Status UndoLookahead::VisitRun(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run) {
  UndoStream::Ahead& ahead = stream->ahead;
  UndoRecordInPage record;
  for (size_t offset = 0; offset < run->bytes.size(); offset += record.length) {
    if (!budget->Spend()) return Status::Ok();
    ROWAN_CHECK(ParseUndoRecord(run->bytes.data(), offset, run->bytes.size(), &record));
    run->record.Assign(record, space_->IdOf(ahead.position.page));
    const Status status = visit(ahead.txn, Csn(ahead.csn), run->record);
    if (!status.ok()) return status;
    ahead.position.offset = static_cast<uint16_t>(ahead.position.offset + record.length);
  }
  run->bytes.clear();
  return Status::Ok();
}

}  // namespace rowan
