// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/row_change.h"

#include "mvcc/row/garbage.h"

namespace rowan {
namespace {

/// Group header, record headers, a leaf compaction: what does not grow with key and value.
constexpr size_t kGroupOverheadBytes = 1024;
/// A leaf this small is looked at for a merge at once; others every 32nd removal of a thread.
constexpr size_t kSmallLeafEntries = 3;
constexpr uint32_t kRemovalsPerLook = 32;

}  // namespace

RowChange::RowChange(TxnManager* manager_, Txn* txn_, Index* index_, Bytes tree_key_)
    : manager(manager_),
      txn(txn_),
      index(index_),
      tree_key(tree_key_),
      cleaner{index_->clustered ? IsGarbageRow : IsGarbageEntry, manager_},
      locks(manager_->locks()) {}

Status RowChange::Begin(MiniTxn* mini_txn) const {
  if (undo_bytes != 0) {
    const Status status = manager->undo()->EnsureRoom(txn, undo_bytes);
    if (!status.ok()) return status;
  }
  return mini_txn->Start(
      static_cast<uint32_t>(kGroupOverheadBytes + tree_key.size() + value_bytes) +
      UndoLog::LogBytesMax(undo_bytes));
}

Status RowChange::Recover(Status failure) const {
  switch (failure.code()) {
    case Code::kLockWait: return locks->Wait(txn);
    case Code::kNoRoom:
      return index->tree.MakeRoom(tree_key, tree_key.size(), value_bytes, cleaner);
    case Code::kRestart: return Status::Ok();
    default: return failure;
  }
}

Status RowChange::NeedUndo(size_t payload_bytes) {
  if (payload_bytes <= undo_bytes) return Status::Ok();
  if (payload_bytes > UndoLog::MaxPayloadBytes(index->tree.pool()->page_size_bytes())) {
    return Status(Code::kTooBig, "the row change does not fit an undo page");
  }
  undo_bytes = payload_bytes;
  return Status(Code::kRestart);
}

void MergeAfterRemoval(Index* index, Bytes tree_key, size_t entries_left) {
  static thread_local uint32_t removals = 0;
  if (entries_left > kSmallLeafEntries && ++removals % kRemovalsPerLook != 0) return;
  // An error here costs space, not correctness; whoever needs the page will report it.
  index->tree.MergeIfSmall(tree_key).Ignore();
}

}  // namespace rowan
