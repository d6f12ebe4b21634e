// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/row_purge.h"

#include "base/counters.h"
#include "buffer/mini_txn.h"
#include "mvcc/row/blob_undo.h"
#include "mvcc/row/row_change.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_undo_format.h"
#include "mvcc/undo/undo_damage.h"

namespace rowan {
namespace {

constexpr uint32_t kRemoveGroupBytes = 1024;

/// Removes the entry with this key if `is_ours(value)`.
template <typename IsOurs>
Status RemoveIf(Index* index, Bytes tree_key, IsOurs is_ours) {
  bool merge_is_due = false;
  {
    MiniTxn mini_txn(index->tree.pool());
    Status status = mini_txn.Start(static_cast<uint32_t>(kRemoveGroupBytes + 2 * tree_key.size()));
    if (!status.ok()) return status;
    LeafPosition position;
    status = index->tree.FindForWrite(&mini_txn, tree_key, &position);
    if (!status.ok() || !position.exact || !is_ours(index->tree.ValueAt(position))) {
      mini_txn.Abandon();
      return status;
    }
    const LeafShrinkage shrinkage(index->tree, position);
    index->tree.RemoveAt(&mini_txn, position);
    merge_is_due = shrinkage.MergeIsDue();
    mini_txn.Commit();
  }
  AddCounter(Counter::kPurgedEntries);
  if (merge_is_due) MergeAfterRemoval(index, tree_key);
  return Status::Ok();
}

/// True as well for a payload too short to tell: that is damage, found when it is decoded.
bool IsRowDelete(Bytes payload) {
  return payload.empty() || (static_cast<uint8_t>(payload[0]) & kUndoRowDelete) != 0;
}

Status PurgeRow(Index* index, TxnId txn, const UndoRecordCopy& record) {
  RowUpdateUndo update;
  if (!DecodeRowUpdate(record.payload, &update)) {
    return ReportDamagedRecord(index->tree.pool(), record);
  }
  return RemoveIf(index, update.key, [txn](Bytes value) {
    ClusteredHeader header;
    Bytes row;
    return ParseClustered(value, &header, &row) && header.deleted && header.txn == txn;
  });
}

Status PurgeEntry(Index* index, TxnId txn, const UndoRecordCopy& record, RowPurge::MayGo may_go) {
  EntryUndo undo;
  if (!DecodeEntryUndo(record.payload, &undo)) {
    return ReportDamagedRecord(index->tree.pool(), record);
  }
  return RemoveIf(index, undo.tree_key, [txn, may_go](Bytes value) {
    SecondaryHeader header;
    Bytes payload;
    return ParseSecondary(value, &header, &payload) && header.deleter == txn &&
           may_go(header.creator);
  });
}

}  // namespace

template <typename InIndex>
Status RowPurge::PurgeIn(IndexId id, InIndex purge) {
  const std::shared_ptr<Index> index = resolver_->FindIndex(id);
  if (index == nullptr) {
    // What cannot be opened just now is still to be purged, a file that is gone has nothing.
    const Status failure = resolver_->OpenFailure(id);
    return failure.Is(Code::kNotFound) ? Status::Ok() : failure;
  }
  if (index->dropped.load(std::memory_order_acquire)) return Status::Ok();
  const Status status = purge(index.get());
  if (!status.ok() && index->dropped.load(std::memory_order_acquire)) return Status::Ok();
  return status;
}

Status RowPurge::Purge(TxnId txn, const UndoRecordCopy& record, WorkBudget* budget) {
  switch (record.type) {
    case UndoType::kBlobDrop: return FreeBlobOf(record, blobs_, budget);
    case UndoType::kExtension: return extension_->PurgeExtension(record.payload, budget);
    case UndoType::kClusteredUpdate:
      // Most updates delete nothing: no need to look for their index.
      if (!IsRowDelete(record.payload)) return Status::Ok();
      return PurgeIn(record.index, [&](Index* index) { return PurgeRow(index, txn, record); });
    case UndoType::kSecondaryDelete:
      return PurgeEntryIf(txn, record, [](TxnId /*creator*/) { return true; });
    default: return Status::Ok();  // nothing that waited for old readers to go
  }
}

Status RowPurge::PurgeEntryIf(TxnId txn, const UndoRecordCopy& record, MayGo may_go) {
  return PurgeIn(record.index,
                 [&](Index* index) { return PurgeEntry(index, txn, record, may_go); });
}

}  // namespace rowan
