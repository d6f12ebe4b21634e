// SPDX-License-Identifier: GPL-2.0-only
// RowChange: what all row writes share: the loop of one change (undo room -> mini-transaction ->
// look at the leaf -> change it or say why not -> wait or make room -> again).
//
// An attempt runs inside a started mini-transaction. If it returns Ok it has logged its whole
// change and the group is committed. With any other status it must have logged nothing: what can
// fail is tried before the undo record is appended, and the undo record is appended before the leaf
// changes. Thread safety: one thread.
#pragma once

#include "base/assertions.h"
#include "base/bytes.h"
#include "base/status.h"
#include "buffer/mini_txn.h"
#include "mvcc/lock/lock_table.h"
#include "mvcc/row/index.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// One change of one tree. An attempt that returns kRestart may raise `undo_bytes`.
struct RowChange {
  TxnManager* manager = nullptr;
  Txn* txn = nullptr;
  Index* index = nullptr;
  Bytes tree_key;          ///< room is made where this key belongs
  size_t value_bytes = 0;  ///< size of the value to be stored
  size_t undo_bytes = 0;   ///< undo payload for which room is ensured; 0 = no undo record
  PageUse pages = PageUse::kOrdinary;
  LeafCleaner cleaner;
  LockTable* locks = nullptr;

  /// Computes the members below from the arguments.
  RowChange(TxnManager* manager_, Txn* txn_, Index* index_, Bytes tree_key_);

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

/// Compares a leaf before and after an entry's removal, under its latch, to tell when to consider a
/// merge: each time it has become emptier by a sixteenth of the page. So a shrinking leaf is
/// considered ten times at most, and in time, however many entries it has.
class LeafShrinkage {
 public:
  /// Before the removal.
  LeafShrinkage(const Tree& tree, const LeafPosition& position);
  /// After it.
  [[nodiscard]] bool MergeIsDue() const;

 private:
  [[nodiscard]] size_t UsedBytes() const;

  const Tree& tree_;
  const LeafPosition& position_;
  const size_t before_bytes_;
};

/// Merges a leaf that became small, if it fits a neighbour. Best effort. No latch held.
void MergeAfterRemoval(Index* index, Bytes tree_key);

}  // namespace rowan
