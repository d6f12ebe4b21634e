// SPDX-License-Identifier: GPL-2.0-only
// RowPurge: how purge handles each kind of undo record of committed transactions that every
// snapshot sees: removes what they delete-marked if the mark is still theirs. Repeating it is
// harmless, and so is finding nothing: writers clean leaves, too.
//   clustered update   if it deleted: remove the row if the mark is still that transaction's
//   secondary delete   remove the entry whose deleter is that transaction
//   blob drop          free
// An index that is gone (IndexResolver) makes a record a no-op. Thread safety: all members.
#pragma once

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/row/extension_applier.h"
#include "mvcc/row/index_resolver.h"
#include "mvcc/undo/undo_page.h"
#include "space/blob_store.h"

namespace rowan {

class RowPurge {
 public:
  RowPurge(IndexResolver* resolver, BlobStore* blobs, ExtensionApplier* extension)
      : resolver_(resolver), blobs_(blobs), extension_(extension) {}
  /// The budget as in UndoApplier::Purge.
  Status Purge(TxnId txn, const UndoRecordCopy& record, WorkBudget* budget);
  /// The same for a kSecondaryDelete, if `may_go` allows it given the entry's creator (kNoTxn:
  /// visible to all), asked under the leaf's latch.
  using MayGo = FunctionRef<bool(TxnId creator)>;
  Status PurgeEntryIf(TxnId txn, const UndoRecordCopy& record, MayGo may_go);

 private:
  template <typename InIndex>
  Status PurgeIn(IndexId index, InIndex purge);

  IndexResolver* const resolver_;
  BlobStore* const blobs_;
  ExtensionApplier* const extension_;
};

}  // namespace rowan
