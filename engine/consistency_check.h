// SPDX-License-Identifier: GPL-2.0-only
// ConsistencyCheck: the engine's part of CHECK TABLE: every page of a table's trees and of its
// space. The caller checks the meaning of entries in the visit function (it knows columns and
// visibility).
//
// Leaked pages: a page in use according to the bitmap that no walk from the roots reaches. Other
// sessions keep changing the trees during the walk, so a page counts only if it was in use before
// and after the walk, and only if several walks in a row miss it.
// Thread safety: all members, also concurrently with other work.
#pragma once

#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/status.h"
#include "btree/tree.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/table.h"
#include "engine/catalog/temporary_tables.h"
#include "mvcc/txn_manager.h"
#include "mvcc/undo/undo_streams.h"
#include "space/blob_store.h"
#include "storage/storage.h"

namespace rowan {

class ConsistencyCheck {
 public:
  ConsistencyCheck(Storage* storage, UndoStreams* undo, TxnManager* txns, Catalog* catalog,
                   TemporaryTables* temporary)
      : storage_(storage), undo_(undo), txns_(txns), catalog_(catalog), temporary_(temporary) {}

  // Contracts: engine/engine.h.
  Status CheckIndex(Table* table, size_t index, Tree::Visit visit, FunctionRef<bool()> interrupted);
  using FindBlobs = FunctionRef<void(Bytes row, std::vector<BlobRef>* blobs)>;
  Status CheckSpace(Table* table, FindBlobs find_blobs, FunctionRef<bool()> interrupted);
  Status CheckSystem();

 private:
  [[nodiscard]] const TxnManager& TxnsOf(const Table& table) const {
    return IsTemporary(table.id()) ? *temporary_->txns() : *txns_;
  }

  Storage* const storage_;
  UndoStreams* const undo_;
  TxnManager* const txns_;
  Catalog* const catalog_;
  TemporaryTables* const temporary_;
};

}  // namespace rowan
