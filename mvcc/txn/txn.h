// SPDX-License-Identifier: GPL-2.0-only
// Txn: one transaction of one session. Plain state; TxnManager, UndoStreams and LockTable act on
// it. It can be used again after Commit or Rollback, and must be destroyed before its TxnManager.
// Thread safety: used by one thread at a time (which may change between calls: commit can run on
// another thread than the statements did), except the members in the "shared" group.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/txn/changed_indexes.h"
#include "mvcc/txn/rows_ahead_of_snapshot.h"
#include "mvcc/txn/snapshot.h"

namespace rowan {

struct UndoStream;
struct FoldedHoldings;
struct LockRequest;
struct SerialTxn;
class SnapshotRegistry;

enum class IsolationLevel : uint8_t {
  kReadUncommitted,
  kReadCommitted,
  kRepeatableRead,
  kSerializable,
};

enum class TxnState : uint8_t { kIdle, kActive, kPrepared, kCommitted, kRolledBack };

/// A place in a transaction's undo: rolling back to it undoes everything later.
struct UndoPosition {
  PageNumber page;
  uint16_t offset = 0;
  uint64_t records = 0;  ///< how many undo records came before
};

/// Of a transaction whose rollback failed and which no longer has a session.
struct FailedRollback {
  Code cause = Code::kOk;       ///< of the last failure; kOk: none, or it is tried again now
  uint32_t failures = 0;        ///< not 0: it can only be rolled back, prepared or not
  uint64_t retry_at_nanos = 0;  ///< MonotonicNanos
};

/// Entries of a transaction in the lock table before the older ones become a set of hashes: what
/// short transactions never reach, and 64 KiB.
inline constexpr uint32_t kFoldAtFirst = 1024;

struct Txn {
  Txn() = default;
  ~Txn();  ///< gives the snapshot slot back
  Txn(const Txn&) = delete;
  Txn& operator=(const Txn&) = delete;

  // Owned by the session's thread.
  TxnState state = TxnState::kIdle;
  IsolationLevel isolation = IsolationLevel::kRepeatableRead;
  Snapshot snapshot;
  UndoStream* stream = nullptr;  ///< exclusively ours from the first write to the end
  UndoPosition undo_start;       ///< where our header record stands
  UndoPosition undo_end;         ///< after our last record
  uint64_t undo_records = 0;
  uint64_t undo_bytes = 0;          ///< victim choice: the smaller one dies
  Lsn commit_lsn{0};                ///< end of the group that committed or prepared it
  uint64_t commit_begin_nanos = 0;  ///< when its commit began with a prepare; 0 = it did not
  std::string xid;                  ///< opaque bytes, empty unless prepared
  ChangedIndexes changed_indexes;   ///< its own, or those of a prepared one found by recovery
  bool recovered = false;           ///< found by recovery, has no session
  /// Not kOk: only a rollback is possible, all else fails with it. kDeadlock: it was chosen to end
  /// a deadlock, or met a row newer than its snapshot.
  Code only_rollback = Code::kOk;
  /// Not kOk: a rollback to a savepoint of `half_undone_records` records failed with it. Until one
  /// to there, or to before, succeeds, only a rollback is possible.
  Code half_undone = Code::kOk;
  uint64_t half_undone_records = 0;
  FailedRollback failed_rollback;
  /// Workers share its rollback (mvcc/undo/rollback_window.h): its members stay as they are.
  bool rollback_shared = false;
  /// Locking a row that others changed after `snapshot` was taken fails (mvcc/row/newer_row.h).
  bool refuses_newer_rows = false;
  /// Serializable by looking for conflicts and not by locks: plain reads go by the snapshot.
  bool optimistic = false;
  /// What is kept of it for that (mvcc/lock/serial_txns.h); null: nothing has to be.
  SerialTxn* serial = nullptr;
  uint32_t lock_wait_timeout_s = 50;
  bool deadlock_detect = true;
  /// Key of the request it waits for last; written and read under its bucket's latch.
  std::string queued_key;
  LockRequest* queued = nullptr;     ///< asked for by LockTable::TryLock, not waited for yet
  FoldedHoldings* folded = nullptr;  ///< its locks without entries, a list of indexes
  uint32_t fold_at = kFoldAtFirst;   ///< entries at which the lock table folds the older ones
  SnapshotRegistry* snapshot_registry = nullptr;
  uint32_t snapshot_slot = UINT32_MAX;  ///< kept between snapshots
  RowsAheadOfSnapshot rows_ahead;       ///< written over versions that the snapshot lacks

  // Shared.
  std::atomic<uint64_t> id{0};  ///< TxnId, 0 before the first write
  /// killed: waits end with kInterrupted until it is cleared, and its rollback is left to others
  std::atomic<bool> interrupted{false};
  /// Leaves a rollback to a savepoint half-way: one that a kill meets, and all of a session that is
  /// to end. The kill that a statement ends with does not leave the rollback of that statement.
  std::atomic<bool> leaves_savepoint{false};
  std::atomic<bool> session_ends{false};  ///< killed for good
  std::atomic<bool> chosen_as_victim{false};
  std::atomic<uint64_t> thread{0};  ///< what the host calls its session's thread; 0: none
  std::atomic<LockRequest*> waiting_for{nullptr};  ///< the published edge, set while it sleeps
  std::atomic<LockRequest*> locks{nullptr};        ///< granted and waiting requests, newest first
  std::atomic<uint32_t> lock_count{0};             ///< of these
  std::atomic<uint64_t> folded_locks{0};  ///< records locked without an entry; its thread writes
  /// The replication worker that runs it, null for other sessions; only changed under the lock
  /// table's wait-graph mutex, by LockTable::SetReplicaWorker.
  void* replica_worker = nullptr;
  uint64_t search_mark = 0;  ///< guarded by the lock table's wait-graph mutex

  [[nodiscard]] TxnId txn_id() const { return TxnId(id.load(std::memory_order_relaxed)); }
  [[nodiscard]] bool is_writer() const { return id.load(std::memory_order_relaxed) != 0; }
};

}  // namespace rowan
