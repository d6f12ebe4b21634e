// SPDX-License-Identifier: GPL-2.0-only
// RowUndo: what rollback and purge do with each kind of undo record. Each record stands for itself:
// it needs no other record and no table definition, because undo holds the keys.
//   rollback  clustered insert -> remove; update -> restore row, header and undo pointer; secondary
//             insert -> remove the entry if this transaction created it, else put its delete mark
//             back; secondary delete -> clear the mark; blob write -> free
//   purge     clustered delete -> remove the row if it is still delete-marked by that transaction;
//             secondary delete -> remove the entry whose deleter is that transaction; blob drop ->
//             free
// An index that is gone (IndexResolver) makes a record a no-op. Thread safety: all members.
#pragma once

#include "base/status.h"
#include "mvcc/row/index_ref.h"
#include "mvcc/txn_manager.h"
#include "space/blob_store.h"

namespace rowan {

/// Engine's part: files and indexes created or dropped by DDL.
class ExtensionApplier {
 public:
  virtual ~ExtensionApplier() = default;
  /// Must be idempotent: a crash may repeat it before the record is dropped.
  virtual Status UndoExtension(Bytes payload) = 0;
  virtual Status PurgeExtension(Bytes payload) = 0;
};

class RowUndo : public UndoApplier {
 public:
  RowUndo(TxnManager* manager, IndexResolver* resolver, BlobStore* blobs,
          ExtensionApplier* extension);
  Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer) override;
  Status Purge(TxnId txn, const UndoRecordCopy& record) override;

 private:
  Status UndoTreeChange(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer);
  Status FreeBlob(const UndoRecordCopy& record);
  static Status BadRecord(const UndoRecordCopy& record);

  TxnManager* const manager_;
  IndexResolver* const resolver_;
  BlobStore* const blobs_;
  ExtensionApplier* const extension_;
};

}  // namespace rowan
