// SPDX-License-Identifier: GPL-2.0-only
// The version written is always assembled in scratch_ (header, then row) before the leaf is looked
// at; only the header waits for the undo pointer.
#include "mvcc/row/row_writer.h"

#include <algorithm>
#include <cstring>

#include "mvcc/row/implicit_lock.h"
#include "mvcc/row/newer_row.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/row/row_value.h"

namespace rowan {
namespace {

Status CheckSize(const Index& index, size_t key_bytes, size_t value_bytes) {
  const uint32_t page_size = index.tree.pool()->page_size_bytes();
  if (key_bytes <= Tree::MaxKeyBytes(page_size) &&
      key_bytes + value_bytes <= Tree::MaxEntryBytes(page_size)) {
    return Status::Ok();
  }
  return Status(Code::kTooBig, "the row or its key is too large for the page size");
}

}  // namespace

Status RowWriter::InsertRow(Txn* txn, Index* index, Bytes key, Bytes row, LockMode duplicate_mode) {
  Status status = manager_->AssignId(txn);
  if (!status.ok()) return status;
  PutBehindHeader(kClusteredHeaderBytes, row, &scratch_);
  status = CheckSize(*index, key.size(), scratch_.size());
  if (!status.ok()) return status;

  RowChange change(manager_, txn, index, key);
  change.value_bytes = scratch_.size();
  change.undo_bytes = key.size() + 1;
  return RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    const Status found =
        index->tree.FindForWrite(mini_txn, key, &position, left_leaves_.Of(index->id()));
    if (!found.ok()) return found;
    return position.exact ? InsertOver(&change, mini_txn, position, duplicate_mode)
                          : InsertFresh(&change, mini_txn, position);
  });
}

Status RowWriter::InsertFresh(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position) {
  Tree& tree = change->index->tree;
  Status status = LockInsert(manager_, change->txn, MakeLockKey(tree.index(), change->tree_key));
  if (!status.ok()) return status;
  status = CheckReaders(manager_, change->txn, tree.index(), change->tree_key);
  if (!status.ok()) return status;
  if (!tree.InsertFits(position, change->tree_key.size(), scratch_.size())) {
    return Status(Code::kNoRoom);
  }
  const Result<UndoPointer> undo = manager_->undo()->Append(
      mini_txn, change->txn, UndoType::kClusteredInsert, tree.index(), {change->tree_key});
  if (!undo.ok()) return undo.status();
  // No older version: readers need not look at the undo record.
  StoreClusteredHeader(scratch_.data(), {false, change->txn->txn_id(), UndoPointer{}});
  status = tree.InsertAt(mini_txn, position, change->tree_key, scratch_, change->txn->txn_id());
  ROWAN_CHECK(status.ok());
  left_leaves_.Note(tree.index(), *mini_txn, position);
  return status;
}

Status RowWriter::ReadEnded(RowChange* change, const LeafPosition& position, LockMode mode,
                            Newest* newest) {
  if (!ParseClustered(change->index->tree.ValueAt(position), &newest->header, &newest->row)) {
    return change->index->ReportDamage(position.leaf.id.page, "a row is shorter than its header");
  }
  if (newest->header.txn == change->txn->txn_id()) return Status::Ok();
  newest->lock = MakeLockKey(change->index->id(), change->tree_key);
  return LockImplicit(manager_, change->txn, newest->header.txn, *newest->lock, mode,
                      WaitPolicy::kWait);
}

Status RowWriter::InsertOver(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                             LockMode duplicate_mode) {
  Newest newest;
  Status status = ReadEnded(change, position, duplicate_mode, &newest);
  if (!status.ok()) return status;
  const bool deleted = newest.header.deleted;
  if (newest.lock.has_value()) {
    status = deleted ? LockInsert(manager_, change->txn, *newest.lock)
                     : change->locks->TryLock(change->txn, *newest.lock, duplicate_mode,
                                              LockKind::kRecord, WaitPolicy::kWait);
    if (!status.ok()) return status;
    status = CheckNotNewer(*manager_, change->txn, newest.header.txn);
    if (!status.ok()) return status;
  }
  if (!deleted) return NoteDuplicate(manager_, change->txn, change->index->id(), change->tree_key);
  return WriteVersion(change, mini_txn, position, newest.header, newest.row, RowState::kLive);
}

Status RowWriter::UpdateRow(Txn* txn, Index* index, Bytes key, Bytes new_row,
                            const EntryPlace& seen) {
  const Status status = CheckSize(*index, key.size(), kClusteredHeaderBytes + new_row.size());
  if (!status.ok()) return status;
  return ChangeRow(txn, index, key, &new_row, seen);
}

Status RowWriter::DeleteRow(Txn* txn, Index* index, Bytes key, const EntryPlace& seen) {
  return ChangeRow(txn, index, key, nullptr, seen);
}

Status RowWriter::ChangeRow(Txn* txn, Index* index, Bytes key, const Bytes* new_row,
                            const EntryPlace& seen) {
  const Status status = manager_->AssignId(txn);
  if (!status.ok()) return status;
  if (new_row != nullptr) PutBehindHeader(kClusteredHeaderBytes, *new_row, &scratch_);
  RowChange change(manager_, txn, index, key);
  change.value_bytes = scratch_.size();
  change.undo_bytes = key.size() + kRowUpdateOverheadMax + update_undo_bytes_;
  return RunChange(&change, [&](MiniTxn* mini_txn) {
    LeafPosition position;
    const Status found = index->tree.FindForWrite(mini_txn, key, &position, seen);
    if (!found.ok()) return found;
    if (!position.exact) return Status(Code::kNotFound);
    return UpdateLive(&change, mini_txn, position, new_row);
  });
}

Status RowWriter::UpdateLive(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                             const Bytes* new_row) {
  Newest newest;
  Status status = ReadEnded(change, position, LockMode::kExclusive, &newest);
  if (!status.ok()) return status;
  if (newest.lock.has_value()) {
    status = CheckNotNewer(*manager_, change->txn, newest.header.txn);
    if (!status.ok()) return status;
  }
  if (newest.header.deleted) return Status(Code::kNotFound);
  if (newest.lock.has_value()) {
    status = LockExplicit(manager_, change->txn, *newest.lock);
    if (!status.ok()) return status;
  }
  if (new_row == nullptr) {  // a delete keeps the row's bytes: older versions refer to them
    PutBehindHeader(kClusteredHeaderBytes, newest.row, &scratch_);
    change->value_bytes = scratch_.size();
  }
  return WriteVersion(change, mini_txn, position, newest.header, newest.row,
                      new_row == nullptr ? RowState::kDeleted : RowState::kLive);
}

Status RowWriter::WriteVersion(RowChange* change, MiniTxn* mini_txn, const LeafPosition& position,
                               const ClusteredHeader& old_header, Bytes old_row, RowState state) {
  const bool marks_deleted = state == RowState::kDeleted;
  const Bytes new_row = Bytes(scratch_).subspan(kClusteredHeaderBytes);
  const RowUpdateUndo update =
      MakeRowUpdate(change->tree_key, old_header, old_row, new_row, marks_deleted);
  const RowUpdatePieces pieces = EncodeRowUpdate(update);
  // A whole old row fits beside its key: key + row + header are at most MaxEntryBytes, under half a
  // page, and MaxPayloadBytes is nearly a page. NeedUndo still tests it.
  Status status = change->NeedUndo(RowUpdateBytes(update, pieces));
  if (!status.ok()) return status;
  update_undo_bytes_ = std::max<size_t>(64, update.old_middle.size());

  Tree& tree = change->index->tree;
  status = CheckReaders(manager_, change->txn, tree.index(), change->tree_key);
  if (!status.ok()) return status;
  if (!tree.UpdateFits(position, scratch_.size())) {
    return Status(Code::kNoRoom);
  }
  Result<UndoPointer> undo =
      manager_->undo()->Append(mini_txn, change->txn, UndoType::kClusteredUpdate, tree.index(),
                               {pieces.head(), update.key, pieces.tail(), update.old_middle});
  if (!undo.ok()) return undo.status();
  Txn* txn = change->txn;
  StoreClusteredHeader(scratch_.data(), {marks_deleted, txn->txn_id(), *undo});
  status = tree.UpdateAt(mini_txn, position, scratch_, txn->txn_id());
  ROWAN_CHECK(status.ok());
  if (txn->snapshot.active() &&
      !manager_->IsVisible(txn->snapshot, old_header.txn, txn->txn_id())) {
    txn->rows_ahead.Add(txn->txn_id(), change->index->table, change->tree_key);
  }
  return status;
}

Status RowWriter::PrepareUndo(Txn* txn, size_t payload_bytes) {
  const Status status = manager_->AssignId(txn);
  if (!status.ok()) return status;
  return manager_->undo()->EnsureRoom(txn, payload_bytes);
}

Status RowWriter::LogBlobWrite(Txn* txn, MiniTxn* mini_txn, const BlobRef& ref) {
  std::byte payload[kBlobRefBytes];
  StoreBlobRef(payload, ref);
  return manager_->undo()
      ->Append(mini_txn, txn, UndoType::kBlobWrite, IndexId(0), {Bytes(payload)})
      .status();
}

Status RowWriter::LogBlobDrop(Txn* txn, const BlobRef& ref) {
  std::byte payload[kBlobRefBytes];
  StoreBlobRef(payload, ref);
  return LogAlone(txn, UndoType::kBlobDrop, payload);
}

Status RowWriter::LogExtension(Txn* txn, Bytes payload) {
  return LogAlone(txn, UndoType::kExtension, payload);
}

Status RowWriter::LogAlone(Txn* txn, UndoType type, Bytes payload) {
  Status status = PrepareUndo(txn, payload.size());
  if (!status.ok()) return status;
  MiniTxn mini_txn(manager_->undo()->pool());
  status = mini_txn.Start(256 + UndoLog::LogBytesMax(payload.size()));
  if (!status.ok()) return status;
  const Result<UndoPointer> undo =
      manager_->undo()->Append(&mini_txn, txn, type, IndexId(0), {payload});
  if (!undo.ok()) {
    mini_txn.Abandon();
    return undo.status();
  }
  mini_txn.Commit();
  return Status::Ok();
}

}  // namespace rowan
