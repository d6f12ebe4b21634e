// SPDX-License-Identifier: GPL-2.0-only
// TxnManager: ids, snapshots, commit order, the registry of active writers.
//
// Commit (no binlog): commit group appended -> CSN published in the ring -> removed from the
// registry -> row locks released -> wait durable -> acknowledged. A reader may see a commit that is
// not durable yet; a dependent commit sits later in the same log, so it can never survive without
// it. Prepare appends only; making prepared transactions durable is MakeDurable (the server calls
// it once per group).
//
// The order in End is a contract: the outcome is published, then the transaction leaves the
// registry, then its locks go. Implicit locks are made explicit only for registered transactions,
// so no lock is added after ReleaseAll.
//
// low_txn advances lazily over finished ids. The ring maps the last 2^20 ids to CSNs; what wraps
// while a snapshot or an active transaction still needs it moves to an overflow map.
// Thread safety: all members; a Txn is passed by the thread that owns it.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/latch.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/lock/lock_table.h"
#include "mvcc/lock/serial_txns.h"
#include "mvcc/purge/purge.h"
#include "mvcc/purge/purge_figures.h"
#include "mvcc/purge/purge_pressure.h"
#include "mvcc/rollback.h"
#include "mvcc/txn/active_writers.h"
#include "mvcc/txn/commit_ring.h"
#include "mvcc/txn/detached_txns.h"
#include "mvcc/txn/old_snapshots.h"
#include "mvcc/txn/snapshot.h"
#include "mvcc/txn/snapshot_registry.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager_options.h"
#include "mvcc/undo/undo_applier.h"
#include "mvcc/undo/undo_log.h"
#include "wal/log.h"

namespace rowan {

struct TxnInfo {  ///< for INFORMATION_SCHEMA and SHOW ENGINE STATUS
  TxnId id;
  uint64_t thread = 0;  ///< Txn::thread
  TxnState state = TxnState::kIdle;
  uint64_t undo_records = 0;
  uint64_t locks = 0;
  bool waiting = false;
  bool recovered = false;
};

enum class TxnLifetime : uint8_t {
  kDurable,
  /// Rows are seen only by the session that writes them, without snapshots, and vanish with the
  /// engine: a commit waits for nothing and purges its own garbage.
  kTemporary,
};

class TxnManager {
 public:
  /// `undo` and `log` may be null in tests of transactions that write nothing.
  TxnManager(UndoStreams* undo, Log* log, const TxnManagerOptions& options = {},
             TxnLifetime lifetime = TxnLifetime::kDurable);
  ~TxnManager() = default;
  TxnManager(const TxnManager&) = delete;
  TxnManager& operator=(const TxnManager&) = delete;
  /// Before the first transaction.
  void SetApplier(UndoApplier* applier);
  void SetNextIds(TxnId next_txn, Csn next_csn);
  [[nodiscard]] bool ShuttingDown() const { return shutdown_sign_ != nullptr && shutdown_sign_(); }
  /// For long work of the transaction's session: until it is killed or the process shuts down.
  [[nodiscard]] WorkBudget BudgetOf(const Txn& txn) const {
    return WorkBudget::UntilInterrupted(shutdown_sign_, &txn.interrupted);
  }
  /// Reserves ids on disk ahead of use; called with the new high-water marks, rarely. Without one,
  /// nothing is reserved.
  void SetIdReserver(std::function<Status(TxnId next_txn_id, Csn next_csn)> reserve);

  // --- snapshots ---
  /// Takes and publishes a snapshot if the transaction has none.
  void OpenSnapshot(Txn* txn);
  void CloseSnapshot(Txn* txn);
  /// The visibility rule of mvcc/txn/snapshot.h.
  [[nodiscard]] bool IsVisible(const Snapshot& snapshot, TxnId writer, TxnId own) const {
    if (writer == own && own != kNoTxn) return true;
    if (writer < snapshot.low_txn) return true;
    if (writer >= snapshot.high_txn) return false;
    return IsVisibleSlow(snapshot, writer);
  }
  /// Every id below is finished and visible to all present and future snapshots. May lag.
  [[nodiscard]] TxnId VisibleToAll() const {
    return TxnId(visible_to_all_.load(std::memory_order_acquire));
  }
  /// Every snapshot, present or future, sees what `writer` did. False for active transactions, and
  /// occasionally needlessly. Exact with respect to purge: when it is false for one that deleted
  /// something, purge has not been there yet, and will get there.
  [[nodiscard]] bool IsSeenByAll(TxnId writer) const;
  /// Transactions with a CSN below may be purged. Recomputed by RefreshHorizon.
  [[nodiscard]] Csn PurgeHorizon() const {
    return Csn(purge_horizon_.load(std::memory_order_acquire));
  }
  void RefreshHorizon();

  // --- optimistic serializability ---
  /// The transaction, which has neither read nor written, is serializable with all others of its
  /// kind without locks for what it reads. Where necessary it fails with kDeadlock, at the latest
  /// in Prepare or Commit; a retry can succeed. `read_only`: it promises not to write, and gets its
  /// snapshot now.
  void BeginOptimistic(Txn* txn, bool read_only);
  [[nodiscard]] SerialTxns* serial() { return &serial_; }
  /// Most memory for locks, and as much again for the reads of optimistic transactions.
  void SetLockMemoryMax(uint64_t memory_bytes_max) {
    locks_.SetMemoryMax(memory_bytes_max);
    serial_.SetMemoryMax(memory_bytes_max);
  }

  // --- writers ---
  /// kDeadlock or kInterrupted when the transaction can only be rolled back.
  [[nodiscard]] static Status CheckUsable(const Txn& txn);
  /// Gives the transaction an id at its first write. kStopped, kReadOnly, or the reserver's
  /// failure.
  Status AssignId(Txn* txn);
  [[nodiscard]] bool IsActive(TxnId id) const { return ring_.IsRunning(id); }
  /// Runs `action` with the active transaction `id` while it is kept from finishing; false if it is
  /// not active. Used to turn implicit locks into explicit ones. `action` must not block.
  bool WithActive(TxnId id, FunctionRef<void(Txn*)> action);

  /// Ends a read-only transaction too (closes the snapshot, releases locks). Waits for durability
  /// as asked, except that kBackground only nudges; `wait` = false (binlog group commit) never
  /// waits.
  /// kDeadlock: an optimistic transaction is not serializable.
  /// After an error the caller rolls back, which is harmless if the commit had happened: kStopped
  /// from the wait for durability leaves the outcome to recovery.
  Status Commit(Txn* txn, Durability durability, bool wait);
  Status Prepare(Txn* txn, Bytes xid);
  /// All groups appended so far.
  Status MakeDurable();
  /// Ends the transaction in any case. If something cannot be undone, returns the error, and the
  /// rows stay locked by a transaction that the manager keeps and lists, until RollbackSome has
  /// undone the rest: see RetryDueRollbacks. What damage or a stopped engine prevents is retried at
  /// the next start. A kill leaves the rest of a long rollback to RollbackSome, a shutdown to the
  /// next start, which is no error: the outcome is certain.
  Status Rollback(Txn* txn);
  /// kInterrupted: a shutdown or a kill came in between (Txn::leaves_savepoint).
  /// After an error the transaction can only be rolled back as a whole, or to this position or an
  /// earlier one: until that succeeds it refuses all else, including commit and prepare.
  Status RollbackTo(Txn* txn, const UndoPosition& position);
  [[nodiscard]] UndoPosition Savepoint(const Txn* txn) const;

  // --- recovery ---
  /// Adopts what UndoRecovery found: registers them as active; losers are rolled back by
  /// RollbackSome in the background, prepared ones wait for the coordinator.
  void Adopt(std::vector<std::unique_ptr<Txn>> unfinished);
  /// One unit of the rollback of recovered losers, as much as the budget allows; the rest of a
  /// transaction stays listed and locked until a later call. Any number of threads, each with a
  /// loser of its own, or several with a long one. False when there was none to take.
  Result<bool> RollbackSome(WorkBudget* budget);
  /// Rollbacks that failed become losers again: what they lacked may be there now, or dropped.
  void RetryFailedRollbacks();
  /// The same for those that no damage prevents, each after a pause that grows with its failures,
  /// from a tenth of a second to most of a minute. Not while the process shuts down.
  void RetryDueRollbacks(uint64_t now_nanos);
  /// Losers of the last run, and retried rollbacks, not rolled back yet. Cheap.
  [[nodiscard]] uint64_t LoserCount() const { return losers_.load(std::memory_order_relaxed); }
  /// Failed rollbacks that wait for a retry which may succeed.
  [[nodiscard]] bool RollbacksWait() const { return detached_.CountFailed().retried != 0; }
  /// Failed rollbacks that wait for a retry, or for a drop: their rows are locked.
  [[nodiscard]] uint64_t FailedRollbacks() const { return detached_.CountFailed().count; }
  /// Those without session: the prepared ones, and what they changed.
  [[nodiscard]] const DetachedTxns& detached() const { return detached_; }
  /// From now on the prepared transaction is known by `xid`, which must have the length of its
  /// former XID. Returns what makes that durable. kInvalidArgument: of another length.
  Result<Lsn> RenamePrepared(Txn* txn, Bytes xid);
  /// The same for one without a session. kNotFound.
  Status RenamePrepared(const std::string& xid, const std::string& renamed);
  Status CommitPrepared(const std::string& xid, Durability durability);
  Status RollbackPrepared(const std::string& xid);
  /// XA PREPARE detached from its session: the manager keeps the transaction.
  void KeepPrepared(std::unique_ptr<Txn> txn);

  // --- purge ---
  /// One unit for worker `worker` of `workers`, as much as the budget allows: streams are shared
  /// out by number. Where an old snapshot stops purge, removes what lies ahead and no snapshot
  /// sees. True if there may be more to do.
  Result<bool> PurgeSome(uint32_t worker, uint32_t workers, WorkBudget* budget);

  /// Purge has not caught up with what earlier runs committed.
  [[nodiscard]] bool HasHistoryOfLastRun() const { return streams()->HasHistoryOfLastRun(); }
  /// Committed transactions that purge has not reached: the input of back-pressure on writers.
  /// Cheap.
  [[nodiscard]] uint64_t HistoryLength() const {
    return streams() == nullptr ? 0 : streams()->HistoryLength();
  }
  [[nodiscard]] PurgeFigures DescribePurge() const;
  /// In undo records; 0: writers are never delayed.
  void SetMaxPurgeLag(uint64_t records) { pressure_.SetLagMax(records); }
  /// Outcomes that the ring had to move aside for old snapshots. For tests.
  [[nodiscard]] uint64_t RememberedOutcomes() const { return ring_.overflow_size(); }
  /// Accesses to that map, under its mutex. For tests.
  [[nodiscard]] uint64_t OutcomeMapLooks() const { return ring_.overflow_looks(); }
  [[nodiscard]] TxnId NextTxnId() const { return TxnId(next_txn_.load(std::memory_order_acquire)); }

  [[nodiscard]] LockTable* locks() { return &locks_; }
  [[nodiscard]] UndoLog* undo() { return &undo_; }
  [[nodiscard]] std::vector<TxnInfo> Describe() const;

 private:
  Status CommitAdopted(Txn* txn, Durability durability);
  [[nodiscard]] bool IsVisibleSlow(const Snapshot& snapshot, TxnId writer) const;
  [[nodiscard]] UndoStreams* streams() const { return undo_.streams(); }
  Csn TakeCsn() { return Csn(next_csn_.fetch_add(1, std::memory_order_seq_cst)); }
  /// Next id, claimed in the ring; kNoTxn when ids have to be reserved first.
  TxnId TakeId(bool* reserve_soon);
  Status ReserveIds();
  /// An id that could not be made known; returns `reason`.
  Status GiveIdBack(Txn* txn, Status reason);
  void SortOpenSnapshots() ROWAN_REQUIRES(horizon_mutex_);
  void PruneOutcomes(Csn announced) ROWAN_REQUIRES(horizon_mutex_);
  /// The least high_txn of the open snapshots; `next` if there are none.
  [[nodiscard]] TxnId LeastHighTxn(TxnId next) const ROWAN_REQUIRES(horizon_mutex_);
  /// False: there are no old snapshots, or the horizon has to move first. Until EndLookAhead the
  /// purge horizon stays, so that undo of versions above it can be read.
  bool BeginLookAhead(OldSnapshots* old);
  void EndLookAhead();

  /// After the commit record or the last undone record: outcome, registry, locks, in this order.
  void End(Txn* txn, TxnOutcome outcome, bool committed);
  static void Reset(Txn* txn, TxnState state);
  /// Ends a transaction that left nothing in the undo log.
  void EndWithoutUndo(Txn* txn, TxnState state);
  /// An optimistic transaction must be able to commit from here on.
  Status CheckSerializable(Txn* txn) {
    return txn->serial == nullptr ? Status::Ok() : serial_.Prepare(txn);
  }
  /// A commit that failed with `status`: stops the engine if it had been promised.
  Status NotCommitted(const Txn& txn, const Status& status);
  /// Runs what can no longer be omitted: without memory for it the engine stops, kStopped.
  Status EndForCertain(const Txn* txn, FunctionRef<void()> end);
  void EndRollback(Txn* txn, Status undone);
  /// After Rollback::Everything.
  Status FinishRollback(Txn* txn, Status undone, bool was_prepared);
  void LogFailedRollback(const Txn& txn, Status reason);
  /// The rollback of `txn` failed or stopped early: a detached transaction takes its place.
  void Detach(Txn* txn, Status reason);

  Log* const log_;
  const bool temporary_;
  const ShutdownSign shutdown_sign_;
  const uint64_t rollback_records_alone_;
  const bool read_only_;
  std::function<Status(TxnId, Csn)> reserve_;
  UndoLog undo_;
  rowan::Rollback rollback_;
  Purge purge_;
  PurgePressure pressure_;  ///< looked at by purge worker 0

  // Written at every first write and every commit: a line each.
  alignas(64) RankedLatch<LatchRank::kTxnIds> assign_latch_;
  std::atomic<uint64_t> next_txn_{1};  ///< written under assign_latch_, after the ring knows the id
  alignas(64) std::atomic<uint64_t> next_csn_{1};
  // Read by every cleaning and scan, rarely written.
  alignas(64) std::atomic<uint64_t> visible_to_all_{1};
  std::atomic<uint64_t> purge_horizon_{1};
  /// Ids that the ring forgot are seen by every open snapshot if they are below this. At or above
  /// it, a snapshot may be older than they are, and never asks about them itself.
  std::atomic<uint64_t> forgotten_seen_below_{UINT64_MAX};
  std::atomic<uint64_t> reserved_txn_{UINT64_MAX};  ///< ids below are reserved on disk

  CommitRing ring_;
  ActiveWriters writers_;
  LockTable locks_;
  SerialTxns serial_;
  SnapshotRegistry snapshots_;

  Mutex horizon_mutex_{LatchRank::kTxnHorizon};
  std::vector<Snapshot> open_snapshots_ ROWAN_GUARDED_BY(horizon_mutex_);  ///< scratch
  OldSnapshotFinder old_snapshots_ ROWAN_GUARDED_BY(horizon_mutex_);
  uint32_t looking_ahead_ ROWAN_GUARDED_BY(horizon_mutex_) = 0;      ///< workers
  bool horizon_must_move_ ROWAN_GUARDED_BY(horizon_mutex_) = false;  ///< and could not for these

  Mutex reserve_mutex_{LatchRank::kTxnReserve};
  uint64_t first_txn_ = 1;  ///< of this run, as first_csn_: no more CSNs are used than ids
  uint64_t first_csn_ = 1;
  std::atomic<uint64_t> adopted_{0};
  std::atomic<uint64_t> losers_{0};  ///< of these, to be rolled back by RollbackSome

  DetachedTxns detached_;  ///< last, so it goes first
};

}  // namespace rowan
