// SPDX-License-Identifier: GPL-2.0-only
// TemporaryTables: tables that only one session sees and that vanish with the engine. Ordinary
// trees in temporary spaces (base/ids.h): their pages live in the same buffer pool, but changes are
// not logged, pages are written only to make room, and nothing is synced. Neither catalog nor
// recovery knows of them; files that a crash leaves are removed at the next start.
//
// Their transactions are separate: ids, undo streams (in a temporary space, too) and locks. A
// session's transaction has a part here when it needs one (Session::Temporary), which ends with it.
// Rows are read as they are, without snapshots: only their owner changes them. So a commit has no
// readers to consider and removes at once what it deleted.
// docs/temporary_tables.md describes it in full. Thread safety: all members.
#pragma once

#include <atomic>
#include <memory>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "engine/catalog/table.h"
#include "mvcc/row/row_undo.h"
#include "mvcc/txn_manager.h"
#include "space/blob_store.h"
#include "space/page_allocator.h"

namespace rowan {

class TemporaryTables final : public IndexResolver, public ExtensionApplier {
 public:
  TemporaryTables(PageAllocator* allocator, BlobStore* blobs, Log* log, ShutdownSign shutdown_sign)
      : allocator_(allocator), blobs_(blobs), log_(log), shutdown_sign_(shutdown_sign) {}

  /// Creates the undo streams on the first call: an engine without temporary tables has none.
  Status Prepare();
  /// Null before Prepare succeeded.
  [[nodiscard]] TxnManager* txns() const { return txns_pointer_.load(std::memory_order_acquire); }

  /// Fills in ids, space and roots of `definition`. Not part of a transaction.
  Result<std::shared_ptr<Table>> Create(TableDef definition, uint64_t auto_increment);
  /// File, pages and rows are gone at once, whatever transactions did with them. kNotFound.
  Status Drop(TableId table);
  /// kNotFound.
  Result<std::shared_ptr<Table>> Find(TableId table) const;
  [[nodiscard]] std::vector<std::shared_ptr<Table>> All() const;

  std::shared_ptr<Index> FindIndex(IndexId index) override;
  /// kCorrupt: CREATE and DROP of temporary tables write no undo.
  Status UndoExtension(Bytes payload, WorkBudget* budget) override;
  Status PurgeExtension(Bytes payload, WorkBudget* budget) override;

 private:
  Status MakeTransactionsLocked() ROWAN_REQUIRES(prepare_mutex_);
  Result<SpaceId> TakeSpaceLocked() ROWAN_REQUIRES(mutex_);
  Status BuildTrees(TableDef* definition);

  PageAllocator* const allocator_;
  BlobStore* const blobs_;
  Log* const log_;
  const ShutdownSign shutdown_sign_;

  Mutex prepare_mutex_{LatchRank::kTemporaryPrepare};
  // Made under prepare_mutex_, constant once txns_pointer_ is set.
  std::unique_ptr<UndoStreams> undo_;
  std::unique_ptr<TxnManager> txns_;
  std::unique_ptr<RowUndo> row_undo_;
  std::atomic<TxnManager*> txns_pointer_{nullptr};  ///< published by Prepare

  mutable SharedMutex mutex_{LatchRank::kTemporaryTables};
  std::unordered_map<TableId, std::shared_ptr<Table>> tables_ ROWAN_GUARDED_BY(mutex_);
  std::unordered_map<IndexId, std::shared_ptr<Index>> indexes_ ROWAN_GUARDED_BY(mutex_);
  SpaceId next_space_ ROWAN_GUARDED_BY(mutex_){kTemporaryUndoSpace.value() + 1};
  TableId next_table_ ROWAN_GUARDED_BY(mutex_) = kFirstTemporaryTable;
  IndexId next_index_ ROWAN_GUARDED_BY(mutex_){1};
};

}  // namespace rowan
