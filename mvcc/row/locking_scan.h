// SPDX-License-Identifier: GPL-2.0-only
// LockingScan: locking reads: row by row, always the newest version. The lock is asked for under
// the leaf latch; when it is granted at once, it covers this very row. To sleep, the scan releases
// the latch; afterwards it returns to the same key and looks again (the lock is ours by then,
// unless the entry is gone or dead, which leaves a harmless lock on its key).
//
// What is ours already (the last writer is this transaction) needs no entry in the lock table.
// Thread safety: one thread.
#pragma once

#include "mvcc/row/range_cover.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

class LockingScan {
 public:
  explicit LockingScan(ScanState* scan) : scan_(scan), cover_(scan) {}

  /// With ScanState::StartBatch.
  void StartBatch() {
    current_lock_asks_ = 0;
    current_is_unlocked_ = false;
    cover_.Stop();
  }
  [[nodiscard]] RangeCover* cover() { return &cover_; }

  /// `positioned` = result of the tree cursor's move onto the first candidate. Walks until a row is
  /// locked and copied.
  Status Collect(Status positioned);
  /// The entry with exactly this key. kNotFound, kSkipped (locked by another, SKIP LOCKED). With
  /// `lock_gaps` a key that is not there is locked against inserts.
  Status Get(Bytes key, Status positioned);
  /// As Collect, for a row that a semi-consistent scan has read without its lock.
  Status CollectLocked(Status positioned);
  void UnlockCurrent();
  /// The current row is a committed version of a row that another transaction has locked.
  [[nodiscard]] bool current_is_unlocked() const { return current_is_unlocked_; }

 private:
  Status GetExisting(Bytes key, Status positioned);
  /// Locks and copies the entry under the tree cursor. kNotFound: dead; kSkipped, kLockWait. With
  /// `semi_consistent` a row locked by another transaction is copied as last committed.
  Status LockCandidate(bool semi_consistent);
  Status LockRow(bool semi_consistent);
  Status CopyCommitted(const ClusteredHeader& header, Bytes row);
  /// Asks for the lock of a live (else kNotFound) entry; `creator` and `deleter` may hold it
  /// implicitly.
  Status LockEntry(const LockTarget& target, TxnId creator, TxnId deleter, WaitPolicy policy);
  Status TryEntry(const LockTarget& target, TxnId creator, TxnId deleter, WaitPolicy policy);
  /// kDeadlock: the transaction's snapshot shows the dead entry, and that matters (newer_row.h).
  /// A dead entry is under the tree cursor. kNotFound, unless covering its key fails.
  Status PassDead(Bytes key);
  Status WaitAndReturn();  ///< sleeps, then puts the tree cursor back where it was

  ScanState* const scan_;
  RangeCover cover_;
  LockKey current_lock_;
  uint32_t current_lock_asks_ = 0;  ///< successful TryLocks for the current row
  bool current_is_unlocked_ = false;
};

}  // namespace rowan
