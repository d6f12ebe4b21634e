// SPDX-License-Identifier: GPL-2.0-only
// UniqueCheck: the unique test of secondary indexes, in two ways.
//
// On the leaf alone: the neighbours of the place where the entry goes, or the leaf's bounds, show
// that nothing with this value is in the tree, and no transaction holds the lock of the value. Then
// the entry goes in under the same latch. Of two such inserters at different leaves neither gets
// here: any bound between their keys starts with the value.
//
// By scanning: the caller holds the lock of the value, taken before its first look, so no other
// inserter is between its test and its insert: one that takes the way above after our look sees our
// lock, one that was faster is found by our look. What is in the tree counts as follows:
//   live, creator committed or ours      duplicate; locked before it is reported, so that it stays
//   creator or deleter still active      give the value's lock back, wait for that transaction (its
//                                        implicit lock), begin again
//   delete-marked, deleter done or ours  no obstacle
// Thread safety: one thread.
#pragma once

#include <memory>

#include "base/bytes.h"
#include "base/status.h"
#include "btree/cursor.h"
#include "mvcc/lock/lock_mode.h"
#include "mvcc/row/index.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

/// `*cursor`, made on first use, on this tree.
Cursor* CursorOn(std::unique_ptr<Cursor>* cursor, Tree* tree);

class UniqueCheck {
 public:
  explicit UniqueCheck(TxnManager* manager) : manager_(manager) {}

  /// On the leaf alone: true if nothing with this value is in the index, and no transaction is
  /// between its test and its insert. Leaf latch held.
  [[nodiscard]] bool ProvesNew(const Txn& txn, const Index& index, const LeafPosition& position,
                               Bytes value) const;
  /// By scanning, one look. kDuplicate; kLockWait: queued for an entry that is still undecided.
  Status Run(Txn* txn, Index* index, Bytes value, LockMode mode);

 private:
  Status CheckEntriesOf(Bytes value, Txn* txn, Index* index, LockMode mode);
  /// The entry under the cursor has the value.
  Status CheckEntry(Txn* txn, Index* index, LockMode mode);

  TxnManager* const manager_;
  std::unique_ptr<Cursor> cursor_;
};

}  // namespace rowan
