// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/row_write_support.h"

#include "base/assertions.h"
#include "base/logging.h"
#include "buffer/mini_txn.h"
#include "mvcc/row/garbage.h"

namespace rowan {
namespace {

/// Group header, record headers, a leaf compaction: what does not grow with key and value.
constexpr size_t kGroupOverheadBytes = 1024;
/// A leaf this small is looked at for a merge at once; others every 32nd removal of a thread.
constexpr size_t kSmallLeafEntries = 3;
constexpr uint32_t kRemovalsPerLook = 32;

}  // namespace

Status AskHolder(TxnManager* manager, Txn* txn, TxnId holder, const LockTarget& key,
                 LockMode mode, WaitPolicy policy) {
  if (holder == kNoTxn || holder == txn->txn_id() || holder < manager->VisibleToAll()) {
    return Status::Ok();
  }
  if (policy != WaitPolicy::kWait) {
    if (!manager->IsActive(holder)) return Status::Ok();
    return Status(policy == WaitPolicy::kSkipLocked ? Code::kSkipped : Code::kLockNotAvailable);
  }
  LockTable* locks = manager->locks();
  const LockKey id = key;
  const bool active =
      manager->WithActive(holder, [locks, id](Txn* owner) { locks->AddImplicit(owner, id); });
  if (!active) return Status::Ok();
  const Status status = locks->TryLock(txn, key, mode, LockKind::kRecord, policy);
  // Granted although the holder has it: only if it ended in between, or if two keys share a hash
  // and we hold the other one; then waiting is impossible.
  if (status.ok() && manager->IsActive(holder)) return Status(Code::kDeadlock);
  return status;
}

Status AskExplicit(TxnManager* manager, Txn* txn, const LockTarget& key) {
  LockTable* locks = manager->locks();
  if (!locks->Conflicts(txn, key, LockMode::kExclusive, LockKind::kRecord)) return Status::Ok();
  return locks->TryLock(txn, key, LockMode::kExclusive, LockKind::kRecord, WaitPolicy::kWait);
}

Status AskInsert(TxnManager* manager, Txn* txn, const LockTarget& key) {
  LockTable* locks = manager->locks();
  if (locks->MayHoldGaps(txn, key.index)) {
    const Status status = locks->TryLock(txn, key, LockMode::kExclusive,
                                         LockKind::kInsertIntention, WaitPolicy::kWait);
    if (!status.ok()) return status;
  }
  return AskExplicit(manager, txn, key);
}

RowChange::RowChange(TxnManager* manager_, Txn* txn_, IndexRef* index_, Bytes tree_key_)
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
      UndoStreams::LogBytesMax(undo_bytes));
}

Status RowChange::Recover(Status failure) const {
  switch (failure.code()) {
    case Code::kLockWait:
      return locks->Wait(txn);
    case Code::kNoRoom:
      return index->tree.MakeRoom(tree_key, tree_key.size(), value_bytes, cleaner);
    case Code::kRestart:
      return Status::Ok();
    default:
      return failure;
  }
}

Status RowChange::NeedUndo(size_t payload_bytes) {
  if (payload_bytes <= undo_bytes) return Status::Ok();
  if (payload_bytes > UndoStreams::MaxPayloadBytes(index->tree.pool()->page_size_bytes())) {
    return Status(Code::kTooBig, "the row change does not fit an undo page");
  }
  undo_bytes = payload_bytes;
  return Status(Code::kRestart);
}

Status ReportRowDamage(const IndexRef& index, PageNumber leaf, const char* what) {
  LogError("index {} in space {}: page {}: {}", index.id().value(), index.tree.space().value(),
           leaf.value(), what);
  return Status(Code::kCorrupt, what, leaf.value());
}

void TidyAfterRemoval(IndexRef* index, Bytes tree_key, size_t entries_left) {
  static thread_local uint32_t removals = 0;
  if (entries_left > kSmallLeafEntries && ++removals % kRemovalsPerLook != 0) return;
  // An error here costs space, not correctness; whoever needs the page will report it.
  index->tree.MergeIfSmall(tree_key).Ignore();
}

}  // namespace rowan
