// SPDX-License-Identifier: GPL-2.0-only
// TxnManager: ids, snapshots, commit order, the registry of active writers.
//
// Commit (no binlog): commit group appended -> CSN published in the ring -> removed from the
// registry -> row locks released -> wait durable -> acknowledged. A reader may see a commit that is
// not durable yet; a dependent commit sits later in the same log, so it can never survive without
// it. Prepare appends only; making prepared transactions durable is MakeDurable (the server calls
// it once per group).
//
// low_txn advances lazily over finished ids. The ring maps the last 2^20 ids to CSNs; what wraps
// while a snapshot or an active transaction still needs it moves to an overflow map.
// Thread safety: all members; a Txn is passed by the thread that owns it.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/lock/lock_table.h"
#include "mvcc/txn/snapshot.h"
#include "mvcc/txn/txn.h"
#include "base/work_budget.h"
#include "mvcc/undo/undo.h"
#include "wal/log.h"

namespace rowan {

/// Undoes one record inside its own mini-transaction (which also calls UndoStreams::DropLast).
/// Supplied by mvcc/row/row_undo.h for row records and by engine/ for extensions.
class UndoApplier {
 public:
  virtual ~UndoApplier() = default;
  virtual Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer) = 0;
  virtual Status Purge(TxnId txn, const UndoRecordCopy& record) = 0;
};

struct TxnInfo {  ///< for INFORMATION_SCHEMA and SHOW ENGINE STATUS
  TxnId id;
  TxnState state = TxnState::kIdle;
  uint64_t undo_records = 0;
  uint64_t locks = 0;
  bool waiting = false;
  bool recovered = false;
};

struct TxnManagerOptions {
  uint64_t lock_memory_bytes_max = uint64_t{256} << 20;
  uint64_t ring_size = uint64_t{1} << 20;  ///< power of two; tests make it wrap
  /// Rows are seen by the session alone that writes them, without snapshots, and are gone with the
  /// engine: a commit waits for nothing and purges what it leaves behind itself.
  bool temporary = false;
  /// A rollback that takes long, and waits for locks, end early when it says so. May be null.
  ShutdownSign shutdown_sign = nullptr;
};

class TxnManager {
 public:
  /// `undo` and `log` may be null in tests of transactions that write nothing.
  TxnManager(UndoStreams* undo, Log* log, const TxnManagerOptions& options = {});
  ~TxnManager();
  /// Before the first transaction.
  void SetApplier(UndoApplier* applier);
  void SetNextIds(TxnId next_txn, Csn next_csn);
  [[nodiscard]] bool ShuttingDown() const;
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
  [[nodiscard]] TxnId VisibleToAll() const;
  /// Transactions with a CSN below may be purged. Recomputed by RefreshHorizon.
  [[nodiscard]] Csn PurgeHorizon() const;
  void RefreshHorizon();

  // --- writers ---
  /// Gives the transaction an id at its first write. kStopped, or what the reserver failed with.
  Status AssignId(Txn* txn);
  [[nodiscard]] bool IsActive(TxnId id) const;
  /// Runs `action` with the active transaction `id` while it is kept from finishing; false if it is
  /// not active. Used to turn implicit locks into explicit ones. `action` must not block.
  bool WithActive(TxnId id, const std::function<void(Txn*)>& action);

  /// Ends a read-only transaction too (closes the snapshot, releases locks). Waits for durability
  /// as asked, except that kBackground only nudges; `wait` = false (binlog group commit) never
  /// waits.
  /// After an error the caller rolls back, which is harmless if the commit had happened: kStopped
  /// from the wait for durability leaves the outcome to recovery.
  Status Commit(Txn* txn, Durability durability, bool wait);
  Status Prepare(Txn* txn, Bytes xid);
  /// All groups appended so far.
  Status MakeDurable();
  /// Ends the transaction in any case. When damage or a stopped engine prevents undoing everything,
  /// the error is returned, the rows stay locked by a transaction that the manager keeps and lists,
  /// and the next start tries again. A shutdown leaves what it finds of a long rollback to the next
  /// start in the same way, which is no error: the outcome is certain.
  Status Rollback(Txn* txn);
  /// After an error the whole transaction must be rolled back; after kInterrupted (a shutdown) it
  /// cannot be committed or prepared any more.
  Status RollbackTo(Txn* txn, const UndoPosition& position);
  [[nodiscard]] UndoPosition Savepoint(const Txn* txn) const;

  // --- recovery ---
  /// Adopts what UndoStreams::Recover found: registers them as active; losers are rolled back by
  /// RollbackRecovered in the background, prepared ones wait for the coordinator.
  void Adopt(std::vector<std::unique_ptr<Txn>> unfinished);
  /// One unit of the rollback of recovered losers, as much as the budget allows; the rest of a
  /// transaction stays listed and locked until a later call. Any number of threads, each with a
  /// loser of its own. False when there was none to take.
  Result<bool> RollbackSome(WorkBudget* budget);
  /// Rollbacks that failed become losers again: what they met may be there now, or given up.
  void RetryFailedRollbacks();
  /// Recovered losers not rolled back yet. Cheap.
  [[nodiscard]] uint64_t LoserCount() const;
  [[nodiscard]] std::vector<std::string> PreparedXids() const;
  /// kNoTxn when there is no such prepared transaction without session.
  [[nodiscard]] TxnId PreparedId(const std::string& xid) const;
  /// Indexes changed by a prepared transaction that recovery found; empty for any other.
  [[nodiscard]] std::vector<IndexId> IndexesChangedBy(const std::string& xid) const;
  Status CommitPrepared(const std::string& xid, Durability durability);
  Status RollbackPrepared(const std::string& xid);
  /// XA PREPARE detached from its session: the manager keeps the transaction.
  void KeepPrepared(std::unique_ptr<Txn> txn);

  // --- purge ---
  /// One unit for worker `worker` of `workers`, as much as the budget allows: streams are shared
  /// out by number. True if there may be more to do.
  Result<bool> PurgeSome(uint32_t worker, uint32_t workers, WorkBudget* budget);

  /// Committed transactions that purge has not reached: what back-pressure on writers goes by.
  /// Cheap.
  [[nodiscard]] uint64_t HistoryLength() const;
  /// Outcomes that the ring had to move aside for old snapshots. For tests.
  [[nodiscard]] uint64_t RememberedOutcomes() const;
  [[nodiscard]] TxnId NextTxnId() const;

  [[nodiscard]] LockTable* locks();
  [[nodiscard]] UndoStreams* undo() const;
  [[nodiscard]] Log* log() const;
  [[nodiscard]] std::vector<TxnInfo> Describe() const;

 private:
  Status CommitAdopted(Txn* txn, Durability durability);
  [[nodiscard]] bool IsVisibleSlow(const Snapshot& snapshot, TxnId writer) const;
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

}  // namespace rowan
