// SPDX-License-Identifier: GPL-2.0-only
// Txn: one transaction of one session, composed of the parts that TxnManager, the undo log and the
// lock table act on. It can be used again after Commit or Rollback, and must be destroyed before
// its TxnManager.
// Thread safety: used by one thread at a time (which may change between calls: commit can run on
// another thread than the statements did), except the members in the "shared" group.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "base/ids.h"
#include "mvcc/txn/lock_owner.h"
#include "mvcc/txn/rollback_state.h"
#include "mvcc/txn/rows_ahead_of_snapshot.h"
#include "mvcc/txn/snapshot.h"
#include "mvcc/txn/snapshot_slot.h"
#include "mvcc/txn/undo_tail.h"

namespace rowan {

struct SerialTxn;

enum class IsolationLevel : uint8_t {
  kReadUncommitted,
  kReadCommitted,
  kRepeatableRead,
  kSerializable,
};

enum class TxnState : uint8_t { kIdle, kActive, kPrepared, kCommitted, kRolledBack };

struct Txn {
  // Owned by the session's thread.
  TxnState state = TxnState::kIdle;
  IsolationLevel isolation = IsolationLevel::kRepeatableRead;
  Snapshot snapshot;
  SnapshotSlot snapshot_slot;
  RollbackState rollback;
  UndoTail undo;
  Lsn commit_lsn{0};                ///< end of the group that committed or prepared it
  uint64_t commit_begin_nanos = 0;  ///< when its commit began with a prepare; 0 = it did not
  std::string xid;                  ///< opaque bytes, empty unless prepared
  bool recovered = false;           ///< found by recovery, has no session
  /// Locking a row changed by others since `snapshot` was taken fails (mvcc/row/newer_row.h).
  bool refuses_newer_rows = false;
  /// Serializable by detecting conflicts instead of locking: plain reads use the snapshot.
  bool optimistic = false;
  /// Its record for that (mvcc/lock/serial_txns.h); null: none is needed.
  SerialTxn* serial = nullptr;
  RowsAheadOfSnapshot rows_ahead;  ///< overwritten, though newer than the snapshot

  // Shared.
  std::atomic<uint64_t> id{0};  ///< TxnId, 0 before the first write
  /// killed: waits end with kInterrupted until it is cleared, and its rollback is left to others
  std::atomic<bool> interrupted{false};
  /// A rollback to a savepoint stops half-way: on a kill, and always in a session that is to end. A
  /// kill that ends a statement does not stop that statement's rollback.
  std::atomic<bool> leaves_savepoint{false};
  std::atomic<bool> session_ends{false};  ///< killed for good
  std::atomic<uint64_t> thread{0};        ///< what the host calls its session's thread; 0: none
  LockOwner locks;                        ///< documents which of its members are shared

  [[nodiscard]] TxnId txn_id() const { return TxnId(id.load(std::memory_order_relaxed)); }
  [[nodiscard]] bool is_writer() const { return id.load(std::memory_order_relaxed) != 0; }
};

}  // namespace rowan
