// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/purge/purge.h"

#include "base/assertions.h"
#include "base/counters.h"
#include "mvcc/purge/undo_lookahead.h"

namespace rowan {
namespace {

/// One unit of work, besides its budget of records: long enough to amortise the scan of all
/// snapshots.
constexpr uint32_t kTransactionsPerUnit = 256;
/// From one stream before the next one's turn: neighbours in a stream share pages.
constexpr uint32_t kTransactionsPerStream = 32;

struct RecordVisit {
  UndoApplier* applier;
  WorkBudget* budget;
  Status operator()(TxnId txn, const UndoRecordCopy& record) const {
    const Status status = applier->Purge(txn, record, budget);
    // The contents of a damaged page stay; its finder logged it. The rest of history must move on.
    return status.Is(Code::kCorrupt) ? Status::Ok() : status;
  }
};

}  // namespace

Result<bool> Purge::RunUnit(uint32_t worker, uint32_t workers, Csn horizon, WorkBudget* budget) {
  ROWAN_DCHECK(worker < workers);
  std::atomic<uint32_t>& cursor = cursors_[worker % kCursors];
  const uint32_t streams = streams_->stream_count();
  const uint32_t own = streams > worker ? (streams - worker - 1) / workers + 1 : 0;
  uint32_t purged = 0;
  Status failure;
  Status known_failure;
  for (uint32_t turn = 0; turn < own && purged < kTransactionsPerUnit; ++turn) {
    if (budget->exhausted()) return true;
    const uint32_t place = cursor.fetch_add(1, std::memory_order_relaxed) % own;
    const uint32_t stream = worker + place * workers;
    const bool known = streams_->At(stream)->blocked.load(std::memory_order_relaxed);
    const Result<bool> done = PurgeStream(stream, horizon, budget, &purged);
    if (done.status().Is(Code::kStopped)) return done.status();
    KeepFirst(known ? &known_failure : &failure, done.status());  // the others continue
    if (done.ok() && !done.value()) return true;
  }
  bool helped = false;
  KeepFirst(&known_failure, HelpOthers(budget, &helped));  // the holder of the stream meets it, too
  if (!failure.ok()) return failure;
  if (purged != 0 || helped) return true;
  if (!known_failure.ok()) return known_failure;
  return false;
}

Status Purge::HelpOthers(WorkBudget* budget, bool* helped) {
  Status failure;
  UndoPurge undo_purge(streams_);
  for (uint32_t stream = 0; stream < streams_->stream_count() && !budget->exhausted(); ++stream) {
    if (!streams_->At(stream)->window.open()) continue;
    const auto step = undo_purge.Help(stream, RecordVisit{applier_, budget}, budget);
    KeepFirst(&failure, step.status());  // the others continue
    if (!step.ok() || step.value() == UndoPurge::Step::kNothing) continue;
    *helped = true;
    if (step.value() == UndoPurge::Step::kTransaction) AddCounter(Counter::kPurgedTxns);
  }
  return failure;
}

Result<bool> Purge::PurgeStream(uint32_t stream, Csn horizon, WorkBudget* budget,
                                uint32_t* purged) {
  const RecordVisit visit{applier_, budget};
  UndoPurge undo_purge(streams_);
  for (uint32_t i = 0; i < kTransactionsPerStream && streams_->HasHistory(stream); ++i) {
    const auto step = undo_purge.PurgeOldest(stream, horizon, visit, budget);
    if (!step.ok()) return step.status();
    if (step.value() == UndoPurge::Step::kPart) return false;
    if (step.value() == UndoPurge::Step::kNothing) break;
    if (step.value() == UndoPurge::Step::kShared) {
      ++*purged;
      break;
    }
    AddCounter(Counter::kPurgedTxns);
    ++*purged;
  }
  return true;
}

Result<bool> Purge::LookAhead(uint32_t worker, uint32_t workers, const OldSnapshots& old,
                              WorkBudget* budget) {
  const auto visit = [this, &old](TxnId txn, Csn csn, const UndoRecordCopy& record) {
    const Status status = applier_->PurgeUnseen(txn, csn, record, old);
    return status.Is(Code::kCorrupt) ? Status::Ok() : status;  // as in PurgeStream
  };
  ROWAN_DCHECK(worker < workers && old.count != 0);
  UndoLookahead ahead(streams_);
  const uint32_t streams = streams_->stream_count();
  const uint32_t own = streams > worker ? (streams - worker - 1) / workers + 1 : 0;
  std::atomic<uint32_t>& cursor = ahead_cursors_[worker % kCursors];
  Status failure;
  for (uint32_t turn = 0; turn < own && !budget->exhausted(); ++turn) {
    const uint32_t place = cursor.load(std::memory_order_relaxed) % own;
    const Status status = ahead.Look(worker + place * workers, old.limit, visit, budget);
    if (status.Is(Code::kStopped)) return status;
    KeepFirst(&failure, status);  // the others continue
    // A stream whose turn was cut short goes first next time.
    if (!budget->exhausted()) cursor.store(place + 1, std::memory_order_relaxed);
  }
  if (budget->exhausted()) return true;
  if (!failure.ok()) return failure;
  return false;
}

Status Purge::PurgeOwn(const Txn* txn, WorkBudget* budget) {
  const auto visit = [this, budget](TxnId writer, const UndoRecordCopy& record) {
    return applier_->Purge(writer, record, budget);
  };
  return UndoPurge(streams_).PurgeOwn(txn, visit, budget);
}

}  // namespace rowan
