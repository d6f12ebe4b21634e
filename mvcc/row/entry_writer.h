// SPDX-License-Identifier: GPL-2.0-only
// EntryWriter: writes secondary entries, each as one log group with its undo record, after their
// clustered row (row_writer.h).
//
// Secondary entries. One entry = one interval of visibility (row_header.h). Written c/d for
// creator/deleter, T for this transaction, C for an older committed one, - for none:
//
//   insert A            nothing there            add A c=T             undo: remove it
//   delete A            A c=x                    A c=x d=T             undo: clear the mark
//   insert A again      A c=x d=T, same payload  A c=x                 undo: put the mark d=T back
//                       A c=x d=T, other payload add A#1 c=T           undo: remove A#1
//                       A d=C seen by all        A c=T                 undo: remove it
//                       A d=C not seen by all    add A#1 c=T           undo: remove A#1
//
// A -> B -> A in one transaction on A c=C:
//   1 delete A   A c=C d=T
//   2 insert B   A c=C d=T, B c=T
//   3 delete B   A c=C d=T, B c=T d=T
//   4 insert A   A c=C,     B c=T d=T     <- commit: purge of 3 removes B, purge of 1 finds no mark
// Rollback to any point undoes 4, 3, 2, 1 in that order, and each step finds exactly the state that
// its record left, because later steps are already undone. A creator that is seen by all is dropped
// when an entry is marked; that is no change that rollback would have to repeat.
//
// Which entries of a key can be live: the plain one or the one with the largest repeat, because a
// new entry takes the plain key if it is free, else the next repeat after all others, and only
// the live one of a key can be replaced. All changes of one key happen under the lock of its
// clustered row.
//
// Errors common to all: as RowWriter's.
// Thread safety: one Txn per thread; any number of threads per index.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/cursor.h"
#include "mvcc/row/index.h"
#include "mvcc/row/index_entry.h"
#include "mvcc/row/left_leaves.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/unique_check.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn_manager.h"

namespace rowan {

class EntryWriter {
 public:
  explicit EntryWriter(TxnManager* manager) : manager_(manager), unique_(manager) {}

  /// kDuplicate: another live entry has the same unique value. A computed entry that the row
  /// already has stays.
  Status Insert(Txn* txn, Index* index, const IndexEntry& entry,
                LockMode duplicate_mode = LockMode::kShared);
  /// Delete-marks the live entry with this key. kNotFound.
  Status Delete(Txn* txn, Index* index, Bytes key);

  /// Replaces the payload of our own live entry when its key stays equal but its original bytes
  /// change (collation-equal values): delete + insert next to it when others may still see the old
  /// payload. kNotFound.
  Status ReplacePayload(Txn* txn, Index* index, const IndexEntry& entry);

 private:
  struct Insertion;

  Status InsertUnique(const Insertion& write, Bytes value, LockMode duplicate_mode);
  Status CheckAndPut(const Insertion& write, Bytes value, LockMode duplicate_mode);
  Status PutEntry(const Insertion& write);
  Status PutAt(const Insertion& write, Bytes tree_key, bool has_repeat);
  Status PutOver(const Insertion& write, RowChange* change, MiniTxn* mini_txn,
                 const LeafPosition& position);
  Status MarkAt(Txn* txn, Index* index, Bytes key, Bytes tree_key);
  Status MarkEntry(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position, Bytes key);
  Status ReadLastRepeat(Cursor* cursor, Bytes key, uint32_t* repeat);
  Status FindLastRepeat(Index* index, Bytes key, uint32_t* repeat);
  Bytes WithRepeat(Bytes key, uint32_t repeat);

  TxnManager* const manager_;
  UniqueCheck unique_;
  std::vector<std::byte> scratch_;   ///< the value being written, header first
  std::vector<std::byte> tree_key_;  ///< key with repeat
  std::vector<std::byte> value_end_;
  LeftLeaves left_leaves_;
  std::unique_ptr<Cursor> cursor_;  ///< to find the last repeat of a key; made on first use
};

}  // namespace rowan
