// SPDX-License-Identifier: GPL-2.0-only
// The unique test of secondary indexes, in two ways.
//
// On the leaf alone: the neighbours of the place where the entry goes, or the leaf's bounds, show
// that nothing with this value is in the tree, and nobody holds the lock of the value. Then the
// entry goes in under the same latch. Of two such inserters at different leaves neither gets here:
// any bound between their keys starts with the value.
//
// By scanning: the caller holds the lock of the value, taken before its first look, so no other
// inserter is between its test and its insert: one that takes the way above after our look sees our
// lock, one that was faster is found by our look. What is in the tree counts as follows:
//   live, creator committed or ours      duplicate; locked before it is reported, so that it stays
//   creator or deleter still active      give the value's lock back, wait for that transaction (its
//                                        implicit lock), begin again
//   delete-marked, deleter done or ours  no obstacle
#include <algorithm>

#include "btree/node.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_write.h"
#include "mvcc/row/row_write_support.h"

namespace rowan {
namespace {

bool StartsWith(Bytes key, Bytes prefix) {
  return key.size() >= prefix.size() && EqualBytes(key.first(prefix.size()), prefix);
}

/// REQUIRES: some key that belongs on the leaf starts with `value`.
bool KeyStartsWith(const NodeView& leaf, size_t slot, Bytes value) {
  const size_t shared = leaf.prefix_length();
  return value.size() <= shared || StartsWith(leaf.Suffix(slot), value.subspan(shared));
}

}  // namespace

bool RowWriter::ProvesNew(const Txn& txn, const IndexRef& index, const LeafPosition& position,
                          Bytes value) const {
  const NodeView leaf({position.leaf.bytes, index.tree.pool()->page_size_bytes()});
  const size_t slot = position.slot;
  if (position.exact || slot == 0 || KeyStartsWith(leaf, slot - 1, value)) return false;
  if (slot < leaf.count()) {
    if (KeyStartsWith(leaf, slot, value)) return false;
  } else if (!leaf.rightmost()) {
    if (!leaf.has_high_key() || StartsWith(leaf.high_key(), value)) return false;
  }
  return !manager_->locks()->Conflicts(&txn, MakeLockKey(index.id(), value), LockMode::kExclusive,
                                       LockKind::kUniqueValue);
}

Status RowWriter::CheckUnique(Txn* txn, IndexRef* index, Bytes value, LockMode mode) {
  Cursor* cursor = CursorOn(index);
  const Status status = CheckEntriesOf(value, cursor, txn, index, mode);
  if (cursor->latched()) cursor->Unlatch();
  return status;
}

Status RowWriter::CheckEntriesOf(Bytes value, Cursor* cursor, Txn* txn, IndexRef* index,
                                 LockMode mode) {
  Status moved = cursor->SeekAtLeast(value);
  while (moved.ok() && StartsWith(cursor->key(), value)) {
    const Status status = JudgeDuplicate(txn, index, mode);
    if (!status.ok()) return status;
    moved = cursor->Next();
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

Status RowWriter::JudgeDuplicate(Txn* txn, IndexRef* index, LockMode mode) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(cursor_->value(), &header, &payload)) {
    return ReportRowDamage(*index, cursor_->leaf(), "entry shorter than its header");
  }
  const Bytes key = StripOrdinal(cursor_->key(), header.has_ordinal);
  const LockTarget lock_key = MakeLockKey(index->id(), key);
  Status status = AskHolder(manager_, txn, header.creator, lock_key, mode, WaitPolicy::kWait);
  if (!status.ok()) return status;
  if (header.deleter != kNoTxn) {
    return AskHolder(manager_, txn, header.deleter, lock_key, mode, WaitPolicy::kWait);
  }
  if (header.creator != txn->txn_id()) {
    status = manager_->locks()->TryLock(txn, lock_key, mode, LockKind::kRecord, WaitPolicy::kWait);
    if (!status.ok()) return status;
  }
  duplicate_key_.assign(key.begin(), key.end());
  return Status(Code::kDuplicate);
}

}  // namespace rowan
