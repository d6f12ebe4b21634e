// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn_manager.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "base/clock.h"
#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// One control file update per million writing transactions. A restart skips the rest of a chunk:
/// 48 bits last for 2^28 restarts.
constexpr uint64_t kIdsPerReservation = uint64_t{1} << 20;

/// CSNs used by transactions that already ran when a chunk of ids was reserved.
constexpr uint64_t kCsnHeadRoom = uint64_t{1} << 20;

/// Ids walked over by one refresh: a millisecond at most, when a long transaction ended.
constexpr uint64_t kRefreshSteps = uint64_t{1} << 20;

/// Outcomes in the ring's overflow map before it is pruned.
constexpr uint64_t kOverflowPrune = 4096;

constexpr uint64_t kNanosPerMilli = 1'000'000;

}  // namespace

TxnManager::TxnManager(UndoStreams* undo, Log* log, const TxnManagerOptions& options,
                       TxnLifetime lifetime)
    : log_(log),
      temporary_(lifetime == TxnLifetime::kTemporary),
      shutdown_sign_(options.shutdown_sign),
      rollback_records_alone_(options.rollback_records_alone),
      read_only_(options.read_only),
      undo_(undo),
      rollback_(&undo_),
      purge_(undo),
      pressure_(undo, options.max_purge_lag),
      ring_(options.commit_ring_entries),
      locks_(options.lock_memory_bytes_max != 0 ? options.lock_memory_bytes_max
                                                : kLockMemoryBytesDefault),
      serial_(options.lock_memory_bytes_max != 0 ? options.lock_memory_bytes_max
                                                 : kLockMemoryBytesDefault),
      old_snapshots_(options.old_snapshot_ms * kNanosPerMilli) {
  snapshots_.SetClock(MonotonicNanos() / kNanosPerMilli);
  locks_.SetShutdownSign(shutdown_sign_);
  locks_.SetWaitHooks(options.wait_hooks);
}

void TxnManager::SetApplier(UndoApplier* applier) {
  rollback_.SetApplier(applier);
  purge_.SetApplier(applier);
}

void TxnManager::SetNextIds(TxnId next_txn, Csn next_csn) {
  // CSN 0 is "no snapshot" and "before everything".
  first_txn_ = std::max<uint64_t>(1, next_txn.value());
  first_csn_ = std::max<uint64_t>(1, next_csn.value());
  next_txn_.store(first_txn_, std::memory_order_release);
  next_csn_.store(first_csn_, std::memory_order_release);
  if (reserve_) reserved_txn_.store(first_txn_, std::memory_order_release);
  ring_.Reset(TxnId(first_txn_));
}

void TxnManager::SetIdReserver(std::function<Status(TxnId, Csn)> reserve) {
  reserve_ = std::move(reserve);
  reserved_txn_.store(next_txn_.load(std::memory_order_relaxed), std::memory_order_release);
}

// --- snapshots ---

void TxnManager::OpenSnapshot(Txn* txn) {
  if (txn->snapshot.active()) return;
  const uint32_t slot = txn->snapshot_slot.In(&snapshots_);
  TxnId low_txn;
  Csn csn;
  do {
    // low_txn first: transactions finished by then have CSNs below the one read afterwards.
    low_txn = ring_.low_txn();
    csn = Csn(next_csn_.load(std::memory_order_seq_cst));
  } while (!snapshots_.Publish(slot, low_txn, csn));
  ROWAN_DCHECK(csn != Csn(0));
  // Last: an id handed out later can only commit with a later CSN.
  const TxnId high_txn(next_txn_.load(std::memory_order_acquire));
  ROWAN_DCHECK(low_txn <= high_txn);
  snapshots_.SetHigh(slot, high_txn, txn->thread.load(std::memory_order_relaxed));
  txn->snapshot = {low_txn, high_txn, csn, slot};
  if (txn->serial != nullptr) serial_.NoteSnapshot(txn);
}

void TxnManager::BeginOptimistic(Txn* txn, bool read_only) {
  ROWAN_DCHECK(txn->serial == nullptr);
  ROWAN_DCHECK(!txn->is_writer() && txn->undo.empty());
  ROWAN_DCHECK(!txn->snapshot.active());
  txn->optimistic = true;
  txn->refuses_newer_rows = true;
  if (read_only) {
    serial_.BeginReadOnly(txn, [&] { OpenSnapshot(txn); });
  } else {
    serial_.Begin(txn);
  }
}

void TxnManager::CloseSnapshot(Txn* txn) {
  if (!txn->snapshot.active()) return;
  snapshots_.Withdraw(txn->snapshot.slot);
  txn->snapshot.slot = UINT32_MAX;
}

bool TxnManager::IsVisibleSlow(const Snapshot& snapshot, TxnId writer) const {
  const TxnOutcome outcome = ring_.Find(writer);
  return outcome.state() == TxnOutcome::kCommitted && outcome.csn() < snapshot.csn;
}

void TxnManager::RefreshHorizon() {
  const MutexLock lock(&horizon_mutex_);
  ring_.AdvanceLow(NextTxnId(), kRefreshSteps);
  TxnId low_txn = ring_.low_txn();
  Csn csn(next_csn_.load(std::memory_order_seq_cst));
  const Csn announced = csn;  // a snapshot that is being opened now has this CSN or a later one
  const bool prune = ring_.overflow_size() != 0;
  open_snapshots_.clear();
  snapshots_.FindOldest(&low_txn, &csn, &open_snapshots_);
  SortOpenSnapshots();
  ROWAN_DCHECK(csn <= announced);
  ROWAN_DCHECK(low_txn <= NextTxnId());
  // A slot may show a snapshot that its owner is about to replace by a fresher one: never go back.
  RaiseTo(&visible_to_all_, low_txn.value());
  // Before outcomes that snapshots do not see are forgotten, after all with a CSN below `csn`.
  forgotten_seen_below_.store(LeastHighTxn(NextTxnId()).value(), std::memory_order_seq_cst);
  horizon_must_move_ = looking_ahead_ != 0 && csn > PurgeHorizon();
  if (!horizon_must_move_) RaiseTo(&purge_horizon_, csn.value());
  const uint64_t now_nanos = MonotonicNanos();
  snapshots_.SetClock(now_nanos / kNanosPerMilli);
  old_snapshots_.Find(open_snapshots_, announced, now_nanos);
  if (prune) PruneOutcomes(announced);
}

// --- ids ---

TxnId TxnManager::TakeId(bool* reserve_soon) {
  const ExclusiveLatchGuard guard(&assign_latch_);
  const uint64_t id = next_txn_.load(std::memory_order_relaxed);
  const uint64_t reserved = reserved_txn_.load(std::memory_order_acquire);
  if (id >= reserved) return kNoTxn;
  ROWAN_CHECK(id < kTxnIdLimit);
  ROWAN_DCHECK(id >= first_txn_);
  ring_.Claim(TxnId(id), Csn(purge_horizon_.load(std::memory_order_acquire)));
  next_txn_.store(id + 1, std::memory_order_release);
  *reserve_soon = reserved - id == kIdsPerReservation / 2;
  return TxnId(id);
}

Status TxnManager::ReserveIds() {
  const MutexLock lock(&reserve_mutex_);
  const uint64_t next = next_txn_.load(std::memory_order_acquire);
  const uint64_t reserved = reserved_txn_.load(std::memory_order_relaxed);
  if (reserved > next + kIdsPerReservation / 2) return Status::Ok();  // another was faster
  ROWAN_DCHECK(next >= first_txn_);
  const uint64_t limit = std::max(next, reserved) + kIdsPerReservation;
  // Each transaction takes at most one CSN, when it ends.
  const uint64_t csn_limit =
      first_csn_ + (limit - first_txn_) + adopted_.load(std::memory_order_relaxed) + kCsnHeadRoom;
  const Status status = reserve_(TxnId(limit), Csn(csn_limit));
  if (!status.ok()) return status;
  reserved_txn_.store(limit, std::memory_order_release);
  return Status::Ok();
}

Status TxnManager::AssignId(Txn* txn) {
  if (txn->is_writer()) return Status::Ok();
  if (log_ != nullptr && log_->stopped()) return Status(Code::kStopped);
  if (read_only_) return Status(Code::kReadOnly, "the instance is only read");
  ROWAN_DCHECK(txn->state != TxnState::kPrepared);
  ROWAN_DCHECK(txn->undo.empty() && txn->undo.stream == nullptr);
  bool reserve_soon = false;
  TxnId id = TakeId(&reserve_soon);
  while (id == kNoTxn) {
    const Status status = ReserveIds();
    if (!status.ok()) return status;
    id = TakeId(&reserve_soon);
  }
  txn->id.store(id.value(), std::memory_order_relaxed);
  if (txn->state != TxnState::kActive) txn->state = TxnState::kActive;
  const Status announced = OrOutOfMemory([&] {
    if (txn->serial != nullptr) serial_.SetId(txn);
    writers_.Add(txn);
    return Status::Ok();
  });
  if (!announced.ok()) return GiveIdBack(txn, announced);
  if (reserve_soon) {
    // Half a chunk is left: a failure returns to the thread that finds none left.
    ReserveIds().Ignore();
  }
  if (ring_.overflow_size() > kOverflowPrune && (id.value() % kOverflowPrune) == 0) {
    RefreshHorizon();
  }
  return Status::Ok();
}

Status TxnManager::GiveIdBack(Txn* txn, Status reason) {
  // No row carries it.
  const TxnId id = txn->txn_id();
  ROWAN_DCHECK(id != kNoTxn);
  ROWAN_DCHECK(txn->undo.empty());
  txn->id.store(0, std::memory_order_relaxed);
  if (txn->serial != nullptr) serial_.ForgetId(txn);
  ring_.Finish(id, TxnOutcome(TxnOutcome::kRolledBack, Csn(0)),
               TxnId(next_txn_.load(std::memory_order_acquire)));
  return reason;
}

bool TxnManager::WithActive(TxnId id, FunctionRef<void(Txn*)> action) {
  return writers_.With(id, action);
}

// --- ends ---

void TxnManager::Reset(Txn* txn, TxnState state) {
  ROWAN_DCHECK(txn->serial == nullptr);
  ROWAN_DCHECK(!txn->snapshot.active());
  ROWAN_DCHECK(!txn->rollback.shared);
  ROWAN_DCHECK(txn->locks.newest.load(std::memory_order_relaxed) == nullptr);
  txn->id.store(0, std::memory_order_relaxed);
  std::atomic_ref(txn->state).store(state, std::memory_order_relaxed);
  txn->undo.Clear();
  txn->commit_begin_nanos = 0;
  txn->rollback.half_undone = Code::kOk;
  txn->rollback.failed = {};
  txn->xid.clear();
  txn->rows_ahead.Forget();
}

void TxnManager::End(Txn* txn, TxnOutcome outcome, bool committed) {
  ROWAN_DCHECK(outcome.finished());
  ROWAN_DCHECK(outcome.state() != TxnOutcome::kCommitted || committed);
  const TxnId id = txn->txn_id();
  if (id != kNoTxn) {
    ring_.Finish(id, outcome, TxnId(next_txn_.load(std::memory_order_acquire)));
    writers_.Remove(id);
  }
  locks_.ReleaseAll(txn);
  if (txn->serial != nullptr) serial_.End(txn, committed);
}

void TxnManager::EndWithoutUndo(Txn* txn, TxnState state) {
  ROWAN_DCHECK(txn->undo.empty() && txn->undo.records == 0);
  if (txn->undo.stream != nullptr) streams()->Release(txn);
  // No row carries the id: its outcome is never asked for.
  End(txn, TxnOutcome(TxnOutcome::kRolledBack, Csn(0)), state == TxnState::kCommitted);
  Reset(txn, state);
}

Status TxnManager::NotCommitted(const Txn& txn, const Status& status) {
  if (txn.state != TxnState::kPrepared || status.Is(Code::kStopped)) return status;
  // Others have committed their part already and count on ours. It stays prepared, and the next
  // start asks them again.
  log_->Stop("a prepared transaction could not be committed");
  return Status(Code::kStopped, "a prepared transaction could not be committed");
}

Status TxnManager::Commit(Txn* txn, Durability durability, bool wait) {
  if (const Status usable = CheckUsable(*txn); !usable.ok()) return usable;
  CloseSnapshot(txn);
  ROWAN_DCHECK(!txn->rollback.shared && txn->rollback.failed.failures == 0);
  ROWAN_DCHECK(txn->undo.empty() || txn->is_writer());
  if (const Status allowed = CheckSerializable(txn); !allowed.ok()) return allowed;
  if (txn->undo.empty()) {
    EndWithoutUndo(txn, TxnState::kCommitted);
    return Status::Ok();
  }
  const uint64_t begin_nanos =
      txn->commit_begin_nanos != 0 ? txn->commit_begin_nanos : MonotonicNanos();
  Csn csn(0);
  const Result<Lsn> end = OrOutOfMemory([&] {
    return undo_.MarkCommitted(txn, [&] {
      ring_.SetCommitting(txn->txn_id());
      csn = TakeCsn();
      return csn;
    });
  });
  if (!end.ok()) return NotCommitted(*txn, end.status());
  ROWAN_DCHECK(csn != Csn(0));
  txn->commit_lsn = end.value();
  const Status ended = EndForCertain(txn, [&] {
    End(txn, TxnOutcome(TxnOutcome::kCommitted, csn), true);
    // What cannot be removed now is garbage until its table is dropped: nothing sees it.
    if (temporary_) {
      WorkBudget budget = BudgetOf(*txn);
      OrOutOfMemory([&] { return purge_.PurgeOwn(txn, &budget); }).Ignore();
    }
    streams()->Release(txn);
    Reset(txn, TxnState::kCommitted);
  });
  if (!ended.ok()) return ended;
  if (temporary_) return Status::Ok();
  AddCounter(Counter::kCommits);
  const Status status = wait ? log_->WaitCommitted(txn->commit_lsn, durability) : Status::Ok();
  log_->NoteCommit(MonotonicNanos() - begin_nanos);
  return status;
}

Status TxnManager::EndForCertain(const Txn* txn, FunctionRef<void()> end) {
  const Status ended = OrOutOfMemory([&] {
    end();
    return Status::Ok();
  });
  if (ended.ok()) return ended;
  // Its end is in the log, and others would wait for it forever.
  LogError("Memory ran out at the end of transaction {}.", txn->txn_id().value());
  log_->Stop("memory ran out at the end of a transaction");
  return Status(Code::kStopped);
}

Status TxnManager::Prepare(Txn* txn, Bytes xid) {
  CloseSnapshot(txn);
  if (const Status usable = CheckUsable(*txn); !usable.ok()) return usable;
  if (const Status allowed = CheckSerializable(txn); !allowed.ok()) return allowed;
  ROWAN_DCHECK(txn->state != TxnState::kPrepared);
  ROWAN_DCHECK(!txn->rollback.shared);
  if (!txn->undo.empty()) {
    txn->commit_begin_nanos = MonotonicNanos();
    const Result<Lsn> end = OrOutOfMemory([&] {
      txn->xid.assign(AsText(xid));
      return undo_.MarkPrepared(txn, xid);
    });
    if (!end.ok()) txn->xid.clear();
    if (!end.ok()) return end.status();
    txn->commit_lsn = end.value();
  } else {
    txn->xid.assign(AsText(xid));
  }
  std::atomic_ref(txn->state).store(TxnState::kPrepared, std::memory_order_relaxed);
  return Status::Ok();
}

Status TxnManager::MakeDurable() { return log_->WaitDurable(log_->tail()); }

UndoPosition TxnManager::Savepoint(const Txn* txn) const { return {txn->undo.records}; }

// --- transactions without a session ---

Status TxnManager::CommitPrepared(const std::string& xid, Durability durability) {
  std::unique_ptr<Txn> txn = detached_.TakePrepared(xid);
  if (txn == nullptr) return Status(Code::kNotFound);
  ROWAN_DCHECK(txn->state == TxnState::kPrepared);
  const Status status = CommitAdopted(txn.get(), durability);
  if (txn->state == TxnState::kPrepared) detached_.Add(std::move(txn));  // nothing was committed
  return status;
}

Status TxnManager::CommitAdopted(Txn* txn, Durability durability) {
  if (reserve_) {
    // It takes a CSN, but took no id in this run: the next start must know of it.
    const Status status = ReserveIds();
    if (!status.ok()) return status;
  }
  return Commit(txn, durability, true);
}

Status TxnManager::RollbackPrepared(const std::string& xid) {
  std::unique_ptr<Txn> txn = detached_.TakePrepared(xid);
  if (txn == nullptr) return Status(Code::kNotFound);
  ROWAN_DCHECK(txn->state == TxnState::kPrepared);
  return Rollback(txn.get());
}

std::vector<TxnInfo> TxnManager::Describe() const {
  std::vector<TxnInfo> infos;
  writers_.ForEach([&](Txn* txn) {
    // The owner runs on meanwhile: each figure is right at some moment.
    infos.push_back(
        {.id = txn->txn_id(),
         .thread = txn->thread.load(std::memory_order_relaxed),
         .state = std::atomic_ref(txn->state).load(std::memory_order_relaxed),
         .undo_records = std::atomic_ref(txn->undo.records).load(std::memory_order_relaxed),
         .locks = txn->locks.count(),
         .waiting = txn->locks.waiting_for.load(std::memory_order_relaxed) != nullptr,
         .recovered = txn->recovered});
  });
  return infos;
}

}  // namespace rowan
