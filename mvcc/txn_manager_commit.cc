// SPDX-License-Identifier: GPL-2.0-only
// How transactions end. The order in End is a contract: the outcome is published, then the
// transaction leaves the registry, then its locks go. Whoever turns an implicit lock into an
// explicit one does it for a registered transaction only, so no lock is added behind ReleaseAll.
#include "base/clock.h"
#include "base/counters.h"
#include "base/logging.h"
#include "mvcc/txn_manager_impl.h"

namespace rowan {
namespace {

Status HalfUndone() {
  return Status(Code::kInterrupted, "the server shuts down; rollback goes on at its next start");
}

}  // namespace

void TxnManager::Impl::Reset(Txn* txn, TxnState state) {
  txn->id.store(0, std::memory_order_relaxed);
  std::atomic_ref(txn->state).store(state, std::memory_order_relaxed);
  txn->stream = nullptr;
  txn->undo_start = {};
  txn->undo_end = {};
  txn->undo_records = 0;
  txn->undo_bytes = 0;
  txn->half_undone = false;
  txn->commit_begin_nanos = 0;
  txn->xid.clear();
}

void TxnManager::Impl::End(Txn* txn, TxnOutcome outcome) {
  const TxnId id = txn->txn_id();
  if (id != kNoTxn) {
    ring.Finish(id, outcome, TxnId(next_txn.load(std::memory_order_acquire)));
    writers.Remove(id);
  }
  locks.ReleaseAll(txn);
}

void TxnManager::Impl::EndWithoutUndo(Txn* txn, TxnState state) {
  if (txn->stream != nullptr) undo->ReturnStream(txn);
  // No row carries the id: nobody will ever ask how it ended.
  End(txn, TxnOutcome(TxnOutcome::kRolledBack, Csn(0)));
  Reset(txn, state);
}

Status TxnManager::Impl::NotCommitted(const Txn& txn, const Status& status) {
  if (txn.state != TxnState::kPrepared || status.Is(Code::kStopped)) return status;
  // Others have committed their part already and count on ours. It stays prepared, and the next
  // start asks them again.
  log->Stop("a prepared transaction could not be committed");
  return Status(Code::kStopped, "a prepared transaction could not be committed");
}

Status TxnManager::Commit(Txn* txn, Durability durability, bool wait) {
  CloseSnapshot(txn);
  if (txn->undo_start.page == kNoPage) {
    impl_->EndWithoutUndo(txn, TxnState::kCommitted);
    return Status::Ok();
  }
  if (txn->half_undone) return HalfUndone();
  const uint64_t begin_nanos =
      txn->commit_begin_nanos != 0 ? txn->commit_begin_nanos : MonotonicNanos();
  struct {
    Impl* impl;
    TxnId id;
    Csn csn;
  } taken{impl_.get(), txn->txn_id(), Csn(0)};
  // One reference captured: small enough for std::function not to allocate.
  const Result<Lsn> end = impl_->undo->MarkCommitted(txn, [&taken] {
    taken.impl->ring.SetCommitting(taken.id);
    taken.csn = Csn(taken.impl->next_csn.fetch_add(1, std::memory_order_seq_cst));
    return taken.csn;
  });
  if (!end.ok()) return impl_->NotCommitted(*txn, end.status());
  txn->commit_lsn = end.value();
  impl_->End(txn, TxnOutcome(TxnOutcome::kCommitted, taken.csn));
  if (impl_->temporary) impl_->PurgeCommitted(txn);
  impl_->undo->ReturnStream(txn);
  Impl::Reset(txn, TxnState::kCommitted);
  if (impl_->temporary) return Status::Ok();
  AddCounter(Counter::kCommits);
  const Status status =
      wait ? impl_->log->WaitCommitted(txn->commit_lsn, durability) : Status::Ok();
  impl_->log->NoteCommit(MonotonicNanos() - begin_nanos);
  return status;
}

void TxnManager::Impl::PurgeCommitted(const Txn* txn) {
  const UndoStreams::PurgeVisit visit = [this](TxnId writer, const UndoRecordCopy& record) {
    return applier->Purge(writer, record);
  };
  // What cannot be removed now is garbage until its table goes: nobody sees it.
  undo->PurgeOwn(txn, visit).Ignore();
}

Status TxnManager::Prepare(Txn* txn, Bytes xid) {
  CloseSnapshot(txn);
  if (txn->half_undone) return HalfUndone();
  if (txn->undo_start.page != kNoPage) {
    txn->commit_begin_nanos = MonotonicNanos();
    const Result<Lsn> end = impl_->undo->MarkPrepared(txn, xid);
    if (!end.ok()) return end.status();
    txn->commit_lsn = end.value();
  }
  txn->xid.assign(AsText(xid));
  std::atomic_ref(txn->state).store(TxnState::kPrepared, std::memory_order_relaxed);
  return Status::Ok();
}

Status TxnManager::MakeDurable() { return impl_->log->WaitDurable(impl_->log->tail()); }

UndoPosition TxnManager::Savepoint(const Txn* txn) const {
  UndoPosition position = txn->undo_end;
  position.records = txn->undo_records;
  return position;
}

Status TxnManager::Impl::UndoDownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget) {
  UndoRecordCopy record;
  UndoPointer pointer;
  for (;;) {
    if (txn->undo_records > position.records && !budget->Spend()) return Status(Code::kBusy);
    Status status = undo->ReadLast(txn, position, &record, &pointer);
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    const uint64_t records = txn->undo_records;
    status = applier->Undo(txn, record, pointer);
    if (!status.ok()) return status;
    ROWAN_CHECK(txn->undo_records < records);  // the applier dropped the record in its own group
  }
}

Status TxnManager::RollbackTo(Txn* txn, const UndoPosition& position) {
  if (txn->undo_records <= position.records) return Status::Ok();
  WorkBudget budget = WorkBudget::UntilShutdown(impl_->shutdown_sign);
  const Status status = impl_->UndoDownTo(txn, position, &budget);
  if (!status.Is(Code::kBusy) || !budget.exhausted()) return status;
  txn->half_undone = true;
  return HalfUndone();
}

Status TxnManager::Impl::UndoEverything(Txn* txn, WorkBudget* budget) {
  if (txn->state == TxnState::kPrepared) {
    const Status status = undo->CancelPrepare(txn);
    if (!status.ok()) return status;
    std::atomic_ref(txn->state).store(TxnState::kActive, std::memory_order_relaxed);
  }
  const Status status = UndoDownTo(txn, UndoPosition{}, budget);
  if (!status.ok()) return status;
  return undo->FinishRollback(txn);
}

void TxnManager::Impl::KeepFailed(Txn* txn, Status reason) {
  const TxnId id = txn->txn_id();
  if (reason.Is(Code::kInterrupted)) {
    if (!temporary) {
      LogInfo("The rollback of transaction {} goes on after the next start; {} undo records are "
              "left.", id.value(), txn->undo_records);
    }
  } else if (!reason.Is(Code::kStopped)) {
    LogError("Rolling back transaction {} failed after {} undo records were left: {}. Its rows "
             "stay locked; the next start tries again.", id.value(), txn->undo_records,
             reason.message());
  }
  auto heir = std::make_unique<Txn>();
  heir->state = txn->state;
  heir->stream = txn->stream;
  heir->undo_start = txn->undo_start;
  heir->undo_end = txn->undo_end;
  heir->undo_records = txn->undo_records;
  heir->undo_bytes = txn->undo_bytes;
  heir->xid = txn->xid;
  heir->recovered = true;
  heir->rollback_failed = true;
  heir->id.store(id.value(), std::memory_order_relaxed);
  writers.Replace(id, heir.get());
  // The rows themselves carry its locks.
  locks.ReleaseAll(txn);
  Keep(std::move(heir));
}

Status TxnManager::Rollback(Txn* txn) {
  CloseSnapshot(txn);
  const bool wrote = txn->undo_start.page != kNoPage;
  if (!wrote) {
    impl_->EndWithoutUndo(txn, TxnState::kRolledBack);
    return Status::Ok();
  }
  const bool was_prepared = txn->state == TxnState::kPrepared;
  WorkBudget budget = WorkBudget::UntilShutdown(impl_->shutdown_sign);
  Status status = impl_->UndoEverything(txn, &budget);
  if (status.Is(Code::kBusy) && budget.exhausted()) status = HalfUndone();
  return impl_->FinishRollback(txn, status, was_prepared);
}

Status TxnManager::Impl::FinishRollback(Txn* txn, Status undone, bool was_prepared) {
  // By a shutdown: the rest is undone for certain.
  const bool left = undone.Is(Code::kInterrupted) && txn->state == TxnState::kActive;
  if (undone.ok()) {
    // A CSN too, so that snapshots taken before and after the end can be told apart.
    const Csn csn(next_csn.fetch_add(1, std::memory_order_seq_cst));
    End(txn, TxnOutcome(TxnOutcome::kRolledBack, csn));
    AddCounter(Counter::kRollbacks);
  } else {
    KeepFailed(txn, undone);
  }
  Reset(txn, TxnState::kRolledBack);
  if (!undone.ok() && !left) return undone;
  // The coordinator forgets the transaction now: it must not come back prepared after a crash.
  return was_prepared ? log->WaitDurable(log->tail()) : Status::Ok();
}

}  // namespace rowan
