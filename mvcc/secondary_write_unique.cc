// SPDX-License-Identifier: GPL-2.0-only
// The unique test of secondary indexes. The caller holds the lock of the value, so no other inserter
// of the same value is between its test and its insert. What is in the tree counts as follows:
//   live, creator committed or ours      duplicate; locked before it is reported, so that it stays
//   creator or deleter still active      wait for that transaction (its implicit lock), look again
//   delete-marked, deleter done or ours  no obstacle
#include <algorithm>

#include "mvcc/row_header.h"
#include "mvcc/row_write.h"
#include "mvcc/row_write_support.h"

namespace rowan {
namespace {

bool StartsWith(Bytes key, Bytes prefix) {
  return key.size() >= prefix.size() && EqualBytes(key.first(prefix.size()), prefix);
}

}  // namespace

Status RowWriter::CheckUnique(Txn* txn, IndexRef* index, Bytes value, LockMode mode) {
  for (;;) {
    Cursor* cursor = CursorOn(index);
    Status status = cursor->SeekAtLeast(value);
    while (status.ok() && StartsWith(cursor->key(), value)) {
      status = JudgeDuplicate(txn, index, mode);
      if (status.ok()) status = cursor->Next();
    }
    if (cursor->latched()) cursor->Unlatch();
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.Is(Code::kLockWait)) return status;
    status = manager_->locks()->Wait(txn);
    if (!status.ok()) return status;
  }
}

Status RowWriter::JudgeDuplicate(Txn* txn, IndexRef* index, LockMode mode) {
  SecondaryHeader header;
  Bytes payload;
  if (!ParseSecondary(cursor_->value(), &header, &payload)) {
    return ReportRowDamage(*index, cursor_->leaf(), "entry shorter than its header");
  }
  const Bytes key = StripOrdinal(cursor_->key(), header.has_ordinal);
  const LockKey lock_key = MakeLockKey(index->id(), key);
  Status status =
      AskHolder(manager_, txn, header.creator, lock_key, mode, WaitPolicy::kWait);
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
