// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/row_change.h"

#include "btree/node.h"
#include "mvcc/row/garbage.h"

namespace rowan {
namespace {

/// Group header, record headers, a leaf compaction: what does not grow with key and value.
constexpr size_t kGroupOverheadBytes = 1024;
/// Of a page: how much emptier a leaf is at the next look. A merge leaves a fifth of a page free:
/// finer steps would not find more.
constexpr size_t kLookSteps = 16;
/// Fuller leaves are not merged.
constexpr size_t kStepsWhenSmall = 10;

}  // namespace

RowChange::RowChange(TxnManager* manager_, Txn* txn_, Index* index_, Bytes tree_key_)
    : manager(manager_),
      txn(txn_),
      index(index_),
      tree_key(tree_key_),
      cleaner{index_->clustered ? IsGarbageRow : IsGarbageEntry, manager_,
              index_->clustered ? nullptr : &kCreatorShortener},
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
      return index->tree.MakeRoom(tree_key, tree_key.size(), value_bytes, cleaner, pages);
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

LeafShrinkage::LeafShrinkage(const Tree& tree, const LeafPosition& position)
    : tree_(tree), position_(position), before_bytes_(UsedBytes()) {}

size_t LeafShrinkage::UsedBytes() const {
  const Bytes page(position_.leaf.bytes, tree_.pool()->page_size_bytes());
  return page.size() - NodeView(page).TotalFree();
}

bool LeafShrinkage::MergeIsDue() const {
  if (tree_.EntryCountAt(position_) == 0) return true;
  const size_t step_bytes = tree_.pool()->page_size_bytes() / kLookSteps;
  const size_t after = UsedBytes() / step_bytes;
  return after < kStepsWhenSmall && after != before_bytes_ / step_bytes;
}

void MergeAfterRemoval(Index* index, Bytes tree_key) {
  // An error here costs space, not correctness; whoever needs the page will report it.
  index->tree.MergeIfSmall(tree_key).Ignore();
}

}  // namespace rowan
