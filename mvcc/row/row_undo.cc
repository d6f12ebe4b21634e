// SPDX-License-Identifier: GPL-2.0-only
// Rollback. Each step is one group: the row or entry goes back and the stream's end moves back over
// the record, so a crash in between repeats nothing and loses nothing. The undo page is latched
// after the leaf and before the leaf changes: what can fail comes first.
//
// A row or entry that goes back to "delete-marked by X" with X seen by all is removed instead:
// purge of X may have been here already and found the mark gone.
#include "mvcc/row/row_undo.h"

#include <xxhash.h>

#include <algorithm>
#include <vector>

#include "base/logging.h"
#include "buffer/mini_txn.h"
#include "mvcc/row/blob_undo.h"
#include "mvcc/row/garbage.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/undo/undo_damage.h"

namespace rowan {
namespace {

/// One undo record being undone in one tree.
struct UndoStep {
  TxnManager* manager;
  Txn* txn;
  Index* index;
  const UndoRecordCopy* record;
  UndoPointer pointer;
};

Status DropUndone(const UndoStep& step, MiniTxn* mini_txn) {
  return step.manager->undo()->DropUndone(mini_txn, step.txn, step.pointer);
}

Status Damage(const UndoStep& step, const LeafPosition& position) {
  return step.index->ReportDamage(position.leaf.id.page,
                                  "an entry is not as its undo record says; rollback cannot go on");
}

/// Removes the entry at `position`, or stores `value` there (empty = remove).
Status PutBack(const UndoStep& step, RowChange* change, MiniTxn* mini_txn,
               const LeafPosition& position, Bytes value, bool* merge_is_due) {
  Tree& tree = step.index->tree;
  if (!value.empty()) {
    change->value_bytes = value.size();
    if (!tree.UpdateFits(position, value.size())) {
      return Status(Code::kNoRoom);
    }
  }
  Status status = DropUndone(step, mini_txn);
  if (!status.ok()) return status;
  if (value.empty()) {
    const LeafShrinkage shrinkage(tree, position);
    tree.RemoveAt(mini_txn, position);
    *merge_is_due = shrinkage.MergeIsDue();
  } else {
    status = tree.UpdateAt(mini_txn, position, value, step.txn->txn_id());
    ROWAN_CHECK(status.ok());
  }
  return status;
}

/// Runs `check(position, &value)`, which fills in what to put back, and puts it back.
template <typename Check>
Status UndoInTree(const UndoStep& step, Bytes tree_key, Check check) {
  RowChange change(step.manager, step.txn, step.index, tree_key);
  change.pages = PageUse::kRollback;
  bool merge_is_due = false;
  std::vector<std::byte> value;
  // The group may hold a whole old row: room for the largest entry.
  change.value_bytes = Tree::MaxEntryBytes(step.index->tree.pool()->page_size_bytes());
  const Status status = RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    Status found = step.index->tree.FindForWrite(mini_txn, tree_key, &position);
    if (!found.ok()) return found;
    value.clear();
    if (!position.exact || !check(position, &value)) return Damage(step, position);
    return PutBack(step, &change, mini_txn, position, value, &merge_is_due);
  });
  if (!status.ok()) return status;
  if (merge_is_due) MergeAfterRemoval(step.index, tree_key);
  return Status::Ok();
}

/// The row or entry with this key is not there any more: nobody need wait for it.
void DropLock(const UndoStep& step, Bytes key) {
  const LockTarget target = MakeLockKey(step.index->id(), key);
  LockTable* locks = step.manager->locks();
  const auto drop = [&](Txn* /*owner*/) { locks->DropImplicit(step.txn, target); };
  // A transaction's list of locks is for one thread at a time.
  if (step.txn->rollback.shared) {
    step.manager->WithActive(step.txn->txn_id(), drop);
  } else {
    drop(step.txn);
  }
}

/// An optimistic transaction that goes back to a savepoint has seen that the key was free, which no
/// row tells any more.
void NoteWasFree(const UndoStep& step, Bytes key) {
  // Failing, it can only be rolled back.
  if (step.txn->serial != nullptr) {
    step.manager->serial()->NoteKey(step.txn, step.index->id(), key).Ignore();
  }
}

Status UndoRowInsert(const UndoStep& step) {
  const Bytes key = step.record->payload;
  NoteWasFree(step, key);
  const Status status =
      UndoInTree(step, key, [&](const LeafPosition& position, std::vector<std::byte>* /*value*/) {
        ClusteredHeader header;
        Bytes row;
        return ParseClustered(step.index->tree.ValueAt(position), &header, &row) &&
               header.txn == step.txn->txn_id() && header.undo.IsNone();
      });
  if (status.ok()) DropLock(step, key);
  return status;
}

Status UndoRowUpdate(const UndoStep& step) {
  RowUpdateUndo update;
  if (!DecodeRowUpdate(step.record->payload, &update)) {
    return ReportDamagedRecord(step.manager->undo()->pool(), *step.record);
  }
  if (update.old_header.deleted) NoteWasFree(step, update.key);
  const Status status = UndoInTree(
      step, update.key, [&](const LeafPosition& position, std::vector<std::byte>* value) {
        ClusteredHeader header;
        Bytes row;
        if (!ParseClustered(step.index->tree.ValueAt(position), &header, &row) ||
            header.txn != step.txn->txn_id() || header.undo != step.pointer) {
          return false;
        }
        const bool garbage =
            update.old_header.deleted && IsSeenByAll(*step.manager, update.old_header.txn);
        if (garbage) return true;
        value->resize(kClusteredHeaderBytes);
        StoreClusteredHeader(value->data(), update.old_header);
        return AppendOldRow(update, row, value);
      });
  if (!status.ok()) return status;
  const TxnId own = step.txn->txn_id();
  if (update.old_header.txn != own) {
    step.txn->rows_ahead.Remove(own, step.index->table, update.key);
    if (update.old_header.deleted) DropLock(step, update.key);
  }
  return Status::Ok();
}

/// kSecondaryInsert and kSecondaryDelete.
Status UndoEntry(const UndoStep& step) {
  EntryUndo undo;
  if (!DecodeEntryUndo(step.record->payload, &undo)) {
    return ReportDamagedRecord(step.manager->undo()->pool(), *step.record);
  }
  const TxnId own = step.txn->txn_id();
  const bool inserted = step.record->type == UndoType::kSecondaryInsert;
  const bool cleared = inserted && (undo.flags & kUndoMarkCleared) != 0;
  bool has_repeat = false;
  const Status status = UndoInTree(
      step, undo.tree_key, [&](const LeafPosition& position, std::vector<std::byte>* value) {
        SecondaryHeader header;
        Bytes payload;
        if (!ParseSecondary(step.index->tree.ValueAt(position), &header, &payload)) return false;
        if (header.deleter != (inserted ? kNoTxn : own)) return false;
        has_repeat = header.has_repeat;
        if (inserted && !cleared) return header.creator == own;
        value->resize(kSecondaryHeaderBytesMax);
        value->resize(StoreSecondaryHeader(value->data(), header.creator, cleared ? own : kNoTxn,
                                           header.has_repeat));
        value->insert(value->end(), payload.begin(), payload.end());
        return true;
      });
  if (status.ok() && inserted && !cleared) DropLock(step, StripRepeat(undo.tree_key, has_repeat));
  return status;
}

}  // namespace

RowUndo::RowUndo(TxnManager* manager, IndexResolver* resolver, BlobStore* blobs,
                 ExtensionApplier* extension)
    : manager_(manager),
      resolver_(resolver),
      blobs_(blobs),
      extension_(extension),
      purge_(resolver, blobs, extension),
      unseen_(manager, &purge_) {}

Status RowUndo::Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
                     WorkBudget* budget) {
  switch (record.type) {
    case UndoType::kClusteredInsert:
    case UndoType::kClusteredUpdate:
    case UndoType::kSecondaryInsert:
    case UndoType::kSecondaryDelete: return UndoTreeChange(txn, record, pointer);
    case UndoType::kBlobWrite: {
      const Status status = FreeBlobOf(record, blobs_, budget);
      if (!status.ok()) return status;
      break;
    }
    case UndoType::kExtension: {
      const Status status = extension_->UndoExtension(record.payload, budget);
      if (!status.ok()) return status;
      break;
    }
    case UndoType::kBlobDrop: break;
    default: return ReportDamagedRecord(manager_->undo()->pool(), record);
  }
  return manager_->undo()->DropLast(txn, pointer);
}

UndoShare RowUndo::ShareOf(const UndoRecordInPage& record) const {
  Bytes key = record.payload;
  switch (record.type) {
    case UndoType::kClusteredUpdate: {
      RowUpdateUndo update;
      if (!DecodeRowUpdate(record.payload, &update)) return {};
      key = update.key;
      break;
    }
    case UndoType::kClusteredInsert: break;
    case UndoType::kSecondaryInsert:
    case UndoType::kSecondaryDelete:
    case UndoType::kBlobDrop: return {UndoShare::kFollows, 0};
    default: return {};
  }
  return {UndoShare::kRow, XXH3_64bits_withSeed(key.data(), key.size(), record.index.value())};
}

Status RowUndo::UndoTreeChange(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer) {
  const std::shared_ptr<Index> index = resolver_->FindIndex(record.index);
  if (index == nullptr && resolver_->IndexExists(record.index)) {
    // Dropping the record would make an uncommitted change permanent.
    return Status(Code::kIoError, "a table to roll back in cannot be opened");
  }
  if (index == nullptr || index->dropped.load(std::memory_order_acquire)) {
    return manager_->undo()->DropLast(txn, pointer);
  }
  const UndoStep step{manager_, txn, index.get(), &record, pointer};
  Status status;
  if (record.type == UndoType::kClusteredInsert) {
    status = UndoRowInsert(step);
  } else if (record.type == UndoType::kClusteredUpdate) {
    status = UndoRowUpdate(step);
  } else {
    status = UndoEntry(step);
  }
  if (!status.ok() && index->dropped.load(std::memory_order_acquire)) {
    return manager_->undo()->DropLast(txn, pointer);  // dropped while we were at it
  }
  return status;
}

}  // namespace rowan
