// SPDX-License-Identifier: GPL-2.0-only
// TxnManager's part of rollback: of whole transactions and to savepoints, by sessions and without
// them, and what becomes of one that fails.
#include <algorithm>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "mvcc/txn_manager.h"

namespace rowan {
namespace {

/// Pauses before a failed rollback is retried: doubled each time, up to a limit.
constexpr uint64_t kFirstRetryNanos = 100'000'000;
constexpr uint32_t kRetryDoublingsMax = 9;

Status HalfUndone() {
  return Status(Code::kInterrupted, "a rollback to a savepoint was interrupted half-way");
}

}  // namespace

Status TxnManager::CheckUsable(const Txn& txn) {
  if (txn.rollback.required != Code::kOk) {
    return Status(txn.rollback.required, "the transaction has to be rolled back");
  }
  switch (txn.rollback.half_undone) {
    case Code::kOk: return Status::Ok();
    case Code::kInterrupted: return HalfUndone();
    default: return Status(txn.rollback.half_undone, "a rollback to a savepoint failed half-way");
  }
}

Status TxnManager::RollbackTo(Txn* txn, const UndoPosition& position) {
  if (txn->undo.records <= position.records) return Status::Ok();
  ROWAN_DCHECK(txn->is_writer() && !txn->rollback.shared);
  ROWAN_DCHECK(txn->state == TxnState::kActive);
  // Inserts found their keys free, and others may take these from here on: this is the latest time
  // for an optimistic transaction's snapshot.
  if (txn->serial != nullptr) OpenSnapshot(txn);
  txn->leaves_savepoint.store(false, std::memory_order_seq_cst);
  if (txn->session_ends.load(std::memory_order_seq_cst)) txn->leaves_savepoint = true;
  WorkBudget budget = WorkBudget::UntilInterrupted(shutdown_sign_, &txn->leaves_savepoint);
  Status status = OrOutOfMemory([&] { return rollback_.DownTo(txn, position, &budget); });
  if (budget.Left(status)) status = HalfUndone();
  ROWAN_DCHECK(!status.ok() || txn->undo.records == position.records);
  const bool half_undone = txn->rollback.half_undone != Code::kOk;
  if (!status.ok()) {
    const uint64_t former = half_undone ? txn->rollback.half_undone_records : UINT64_MAX;
    txn->rollback.half_undone_records = std::min(former, position.records);
    txn->rollback.half_undone = status.code();
  } else if (half_undone && position.records <= txn->rollback.half_undone_records) {
    txn->rollback.half_undone = Code::kOk;
  }
  return status;
}

void TxnManager::LogFailedRollback(const Txn& txn, Status reason) {
  if (reason.Is(Code::kInterrupted)) {
    if (temporary_) return;
    LogInfo("The rollback of transaction {} goes on {}; {} undo records are left.",
            txn.txn_id().value(), ShuttingDown() ? "after the next start" : "in the background",
            txn.undo.records);
  } else if (!reason.Is(Code::kStopped) && txn.rollback.failed.failures == 0) {
    // Of the retries only the successful one is logged.
    LogError(
        "Rolling back transaction {} failed when {} undo records were left: {}. Its rows stay "
        "locked. {}",
        txn.txn_id().value(), txn.undo.records, reason.message(),
        reason.Is(Code::kCorrupt)
            ? "It is tried again when a table is dropped and at the next start: see \"Damage in "
              "undo\" in docs/durability.md."
            : "It is tried again until it succeeds; the disk may be full or away.");
  }
}

void TxnManager::Detach(Txn* txn, Status reason) {
  const TxnId id = txn->txn_id();
  ROWAN_DCHECK(id != kNoTxn && !reason.ok());
  ROWAN_DCHECK(!txn->undo.empty() && !txn->rollback.shared);
  LogFailedRollback(*txn, reason);
  // Left by a session: nothing prevents the rest.
  const bool goes_on = reason.Is(Code::kInterrupted) && !ShuttingDown();
  const uint32_t failures = txn->rollback.failed.failures;
  const uint64_t pause_nanos = kFirstRetryNanos << std::min(failures, kRetryDoublingsMax);
  auto detached = std::make_unique<Txn>();
  detached->state = txn->state;
  detached->undo = txn->undo;
  detached->xid = txn->xid;
  detached->recovered = true;
  if (goes_on) {
    losers_.fetch_add(1, std::memory_order_relaxed);
  } else {
    detached->rollback.failed = {reason.code(), failures + 1, MonotonicNanos() + pause_nanos};
  }
  detached->id.store(id.value(), std::memory_order_relaxed);
  writers_.Replace(id, detached.get());
  locks_.HandOver(txn, detached.get());
  if (txn->serial != nullptr) serial_.End(txn, false);
  detached_.Add(std::move(detached));
}

Status TxnManager::Rollback(Txn* txn) {
  CloseSnapshot(txn);
  if (txn->serial != nullptr) serial_.End(txn, false);
  const bool wrote = !txn->undo.empty();
  if (!wrote) {
    EndWithoutUndo(txn, TxnState::kRolledBack);
    return Status::Ok();
  }
  const bool was_prepared = txn->state == TxnState::kPrepared;
  WorkBudget budget = BudgetOf(*txn);
  Status status = OrOutOfMemory([&] { return rollback_.Everything(txn, &budget); });
  if (budget.Left(status)) status = Status(Code::kInterrupted, "the rest is left to others");
  return FinishRollback(txn, status, was_prepared);
}

Status TxnManager::FinishRollback(Txn* txn, Status undone, bool was_prepared) {
  // By a shutdown or a kill: the rest will certainly be undone.
  const bool left = undone.Is(Code::kInterrupted) && txn->state == TxnState::kActive;
  const Status ended = EndForCertain(txn, [&] { EndRollback(txn, undone); });
  if (!ended.ok()) return ended;
  Reset(txn, TxnState::kRolledBack);
  if (!undone.ok() && !left) return undone;
  // The coordinator forgets the transaction now: after a crash it must not reappear as prepared.
  return was_prepared ? log_->WaitDurable(log_->tail()) : Status::Ok();
}

void TxnManager::EndRollback(Txn* txn, Status undone) {
  if (undone.ok()) {
    ROWAN_DCHECK(txn->undo.stream == nullptr && txn->undo.records == 0);
    // A CSN too, so that snapshots taken before and after the end can be told apart.
    End(txn, TxnOutcome(TxnOutcome::kRolledBack, TakeCsn()), false);
    AddCounter(Counter::kRollbacks);
    if (txn->rollback.failed.failures != 0) {
      LogInfo("The rollback of transaction {}, which had failed, is complete.",
              txn->txn_id().value());
    }
  } else {
    Detach(txn, undone);
  }
}

void TxnManager::Adopt(std::vector<std::unique_ptr<Txn>> unfinished) {
  for (std::unique_ptr<Txn>& txn : unfinished) {
    ROWAN_DCHECK(txn->recovered && txn->is_writer());
    ROWAN_DCHECK(txn->state == TxnState::kActive || txn->state == TxnState::kPrepared);
    ring_.AddUnfinished(txn->txn_id());
    writers_.Add(txn.get());
    adopted_.fetch_add(1, std::memory_order_relaxed);
    if (txn->state == TxnState::kActive) losers_.fetch_add(1, std::memory_order_relaxed);
    if (txn->state == TxnState::kPrepared) serial_.Adopt(txn.get());
    detached_.Add(std::move(txn));
  }
}

Result<bool> TxnManager::RollbackSome(WorkBudget* budget) {
  std::unique_ptr<Txn> txn = detached_.TakeLoser();
  if (txn == nullptr && LoserCount() == 0) return false;
  rowan::Rollback::SharedOutcome shared;
  if (txn == nullptr) {
    rollback_.Help(budget, &shared);
  } else if (txn->state == TxnState::kActive && txn->undo.records > rollback_records_alone_) {
    rollback_.Share(&txn, budget, &shared);
  }
  Status status = shared.status;
  const bool was_prepared = txn != nullptr && txn->state == TxnState::kPrepared;
  if (shared.txn != nullptr) txn = std::move(shared.txn);
  if (txn == nullptr) return true;  // other workers do
  if (shared.units == 0) {
    status = OrOutOfMemory([&] { return rollback_.Everything(txn.get(), budget); });
  }
  if (shared.units != 0 ? status.ok() : budget->Left(status)) {
    detached_.Add(std::move(txn));
    return true;
  }
  ROWAN_DCHECK(!txn->rollback.shared);
  status = FinishRollback(txn.get(), status, was_prepared);
  ROWAN_DCHECK(losers_.load(std::memory_order_relaxed) != 0);
  losers_.fetch_sub(1, std::memory_order_relaxed);
  // Damage was logged, and the transaction is detached once more: continue with the next one.
  if (status.Is(Code::kStopped)) return status;
  return true;
}

void TxnManager::RetryFailedRollbacks() { detached_.RetryFailed(&losers_); }

void TxnManager::RetryDueRollbacks(uint64_t now_nanos) {
  if (!ShuttingDown()) detached_.RetryDue(now_nanos, &losers_);
}

}  // namespace rowan
