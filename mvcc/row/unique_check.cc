// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/unique_check.h"

#include "base/out_of_memory.h"
#include "btree/node.h"
#include "mvcc/row/implicit_lock.h"
#include "mvcc/row/newer_row.h"
#include "mvcc/row/row_header.h"

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

Cursor* CursorOn(std::unique_ptr<Cursor>* cursor, Tree* tree) {
  if (*cursor == nullptr) {
    *cursor = std::make_unique<Cursor>(tree);
  } else {
    (*cursor)->Reset(tree);
  }
  return cursor->get();
}

bool UniqueCheck::ProvesNew(const Txn& txn, const Index& index, const LeafPosition& position,
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

Status UniqueCheck::Run(Txn* txn, Index* index, Bytes value, LockMode mode) {
  CursorOn(&cursor_, &index->tree);
  const Status status = OrOutOfMemory([&] { return CheckEntriesOf(value, txn, index, mode); });
  cursor_->LetGo();
  return status;
}

Status UniqueCheck::CheckEntriesOf(Bytes value, Txn* txn, Index* index, LockMode mode) {
  Status moved = cursor_->SeekAtLeast(value);
  while (moved.ok() && StartsWith(cursor_->key(), value)) {
    const Status status = CheckEntry(txn, index, mode);
    if (!status.ok()) return status;
    moved = cursor_->Next();
  }
  return moved.Is(Code::kEndOfRange) ? Status::Ok() : moved;
}

Status UniqueCheck::CheckEntry(Txn* txn, Index* index, LockMode mode) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(cursor_->value(), &header, &payload)) {
    return index->ReportDamage(cursor_->leaf(), "an entry is shorter than its header");
  }
  const Bytes key = StripRepeat(cursor_->key(), header.has_repeat);
  const LockTarget lock_key = MakeLockKey(index->id(), key);
  Status status = LockImplicit(manager_, txn, header.creator, lock_key, mode, WaitPolicy::kWait);
  if (!status.ok()) return status;
  if (header.deleter != kNoTxn) {
    status = LockImplicit(manager_, txn, header.deleter, lock_key, mode, WaitPolicy::kWait);
    if (!status.ok()) return status;
    // The snapshot still shows the value, or the value came and went: whoever takes it comes after
    // that, in an optimistic transaction's serial order, too.
    const bool came = IsNewerRow(*manager_, *txn, header.creator);
    return came && txn->serial == nullptr ? status : CheckNotNewer(*manager_, txn, header.deleter);
  }
  if (header.creator != txn->txn_id()) {
    status = manager_->locks()->TryLock(txn, lock_key, mode, LockKind::kRecord, WaitPolicy::kWait);
    if (!status.ok()) return status;
    status = CheckNotNewer(*manager_, txn, header.creator);
    if (!status.ok()) return status;
  }
  return NoteDuplicate(manager_, txn, index->id(), key);
}

}  // namespace rowan
