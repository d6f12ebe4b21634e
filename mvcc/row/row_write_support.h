// SPDX-License-Identifier: GPL-2.0-only
// What all row writes share: the loop of one change (undo room -> mini-transaction -> look at the
// leaf -> change it or say why not -> wait or make room -> again), the lock tests under a leaf
// latch, and the rule for garbage.
//
// An attempt runs inside a started mini-transaction. If it returns Ok it has logged its whole
// change and the group is committed. With any other status it must have logged nothing: what can
// fail is tried before the undo record is appended, and the undo record is appended before the leaf
// changes. Thread safety: pure functions of objects that are thread-safe themselves.
#pragma once

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/lock/lock_table.h"
#include "mvcc/row/index_ref.h"
#include "mvcc/row/row_header.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// Ok when `holder` (0, ourselves or a finished transaction) holds no implicit lock against us.
/// Else its lock is made explicit and ours asked for: kLockWait when queued, kLockNotAvailable or
/// kSkipped as `policy` asks. Call under the latch of the leaf where `holder` was read.
Status AskHolder(TxnManager* manager, Txn* txn, TxnId holder, const LockTarget& key,
                 LockMode mode, WaitPolicy policy);

/// Before a row or entry becomes ours by writing to it: respects explicit locks of others, and
/// makes no entry when there are none. Ok or kLockWait or an error.
Status AskExplicit(TxnManager* manager, Txn* txn, const LockTarget& key);
/// Before an entry with this key comes to life, new or in the place of a dead one: respects what
/// others have locked of the gap, too. Call under the exclusive latch of the leaf it goes to: a
/// scan that read the leaf before has covered its way there under the same latch.
Status AskInsert(TxnManager* manager, Txn* txn, const LockTarget& key);

/// One change of one tree. `undo_bytes` may be raised by an attempt that returns kRestart.
struct RowChange {
  TxnManager* manager = nullptr;
  Txn* txn = nullptr;
  IndexRef* index = nullptr;
  Bytes tree_key;          ///< room is made where this key belongs
  size_t value_bytes = 0;  ///< size of the value to be stored
  size_t undo_bytes = 0;   ///< undo payload for which room is ensured; 0 = no undo record
  LeafCleaner cleaner;
  LockTable* locks = nullptr;

  /// Fills in what follows from the others.
  RowChange(TxnManager* manager_, Txn* txn_, IndexRef* index_, Bytes tree_key_);

  /// Ensures undo room and starts the mini-transaction.
  Status Begin(MiniTxn* mini_txn) const;
  /// After an attempt that did not succeed, everything released: waits or makes room. Ok = try
  /// again.
  Status Recover(Status failure) const;
  /// Raises undo_bytes so that `payload_bytes` fit: Ok when they do already, kRestart when room
  /// must be ensured first, kTooBig beyond what a page can hold.
  Status NeedUndo(size_t payload_bytes);
};

/// Runs `attempt(MiniTxn*) -> Status` until it succeeds or fails for good.
template <typename Attempt>
Status RunChange(RowChange* change, Attempt attempt) {
  for (;;) {
    Status status;
    {
      MiniTxn mini_txn(change->index->tree.pool());
      status = change->Begin(&mini_txn);
      if (!status.ok()) return status;
      status = attempt(&mini_txn);
      if (status.ok()) {
        mini_txn.Commit();
        return status;
      }
      ROWAN_CHECK(!mini_txn.has_changes());
      mini_txn.Abandon();
    }
    status = change->Recover(status);
    if (!status.ok()) return status;
  }
}

/// Logs and returns kCorrupt: a row or entry is not what the transaction's records say.
Status ReportRowDamage(const IndexRef& index, PageNumber leaf, const char* what);

/// Now and then after a removal: gives leaves that became small back. Best effort.
void TidyAfterRemoval(IndexRef* index, Bytes tree_key, size_t entries_left);

}  // namespace rowan
