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
  size_t entries_left = 0;
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
    index->tree.RemoveAt(&mini_txn, position);
    entries_left = index->tree.EntryCountAt(position);
    mini_txn.Commit();
  }
  AddCounter(Counter::kPurgedEntries);
  MergeAfterRemoval(index, tree_key, entries_left);
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

Status PurgeEntry(Index* index, TxnId txn, const UndoRecordCopy& record) {
  EntryUndo undo;
  if (!DecodeEntryUndo(record.payload, &undo)) {
    return ReportDamagedRecord(index->tree.pool(), record);
  }
  return RemoveIf(index, undo.tree_key, [txn](Bytes value) {
    SecondaryHeader header;
    Bytes payload;
    return ParseSecondary(value, &header, &payload) && header.deleter == txn;
  });
}

}  // namespace

Status RowPurge::Purge(TxnId txn, const UndoRecordCopy& record) {
  switch (record.type) {
    case UndoType::kBlobDrop: return FreeBlobOf(record, blobs_);
    case UndoType::kExtension: return extension_->PurgeExtension(record.payload);
    case UndoType::kClusteredUpdate:
      // Most updates delete nothing: no need to look for their index.
      if (!IsRowDelete(record.payload)) return Status::Ok();
      break;
    case UndoType::kSecondaryDelete: break;
    default: return Status::Ok();  // nothing that waited for old readers to go
  }
  const std::shared_ptr<Index> index = resolver_->FindIndex(record.index);
  if (index == nullptr) {
    // What cannot be opened just now is still to be purged, a file that is gone has nothing.
    const Status failure = resolver_->OpenFailure(record.index);
    return failure.Is(Code::kNotFound) ? Status::Ok() : failure;
  }
  if (index->dropped.load(std::memory_order_acquire)) return Status::Ok();
  const Status status = record.type == UndoType::kClusteredUpdate
                            ? PurgeRow(index.get(), txn, record)
                            : PurgeEntry(index.get(), txn, record);
  if (!status.ok() && index->dropped.load(std::memory_order_acquire)) return Status::Ok();
  return status;
}

}  // namespace rowan
