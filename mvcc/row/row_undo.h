// SPDX-License-Identifier: GPL-2.0-only
// RowUndo: how rollback handles each kind of undo record. Each record stands alone: it needs no
// other record and no table definition, because undo holds the keys.
//   clustered insert   remove
//   clustered update   restore row, header and undo pointer
//   secondary insert   remove the entry if this transaction created it, else put its mark back
//   secondary delete   clear the mark
//   blob write         free
// An index that is gone (IndexResolver) makes a record a no-op. Thread safety: all members.
#pragma once

#include "base/status.h"
#include "mvcc/row/extension_applier.h"
#include "mvcc/row/index_resolver.h"
#include "mvcc/row/invisible_version_purge.h"
#include "mvcc/row/row_purge.h"
#include "mvcc/txn_manager.h"
#include "mvcc/undo/undo_applier.h"
#include "space/blob_store.h"

namespace rowan {

class RowUndo : public UndoApplier {
 public:
  RowUndo(TxnManager* manager, IndexResolver* resolver, BlobStore* blobs,
          ExtensionApplier* extension);
  Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
              WorkBudget* budget) override;
  UndoShare ShareOf(const UndoRecordInPage& record) const override;
  Status Purge(TxnId txn, const UndoRecordCopy& record, WorkBudget* budget) override {
    return purge_.Purge(txn, record, budget);
  }
  Status PurgeUnseen(TxnId txn, Csn csn, const UndoRecordCopy& record,
                     const OldSnapshots& old) override {
    return unseen_.Purge(txn, csn, record, old);
  }

 private:
  Status UndoTreeChange(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer);

  TxnManager* const manager_;
  IndexResolver* const resolver_;
  BlobStore* const blobs_;
  ExtensionApplier* const extension_;
  RowPurge purge_;
  InvisibleVersionPurge unseen_;
};

}  // namespace rowan
