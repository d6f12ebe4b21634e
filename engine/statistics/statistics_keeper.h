// SPDX-License-Identifier: GPL-2.0-only
// StatisticsKeeper: refreshes the statistics of tables, when asked to or as rows change, and keeps
// them across restarts: one row per table in the catalog's tree, written by small transactions of
// their own. Nobody waits for them: what a crash loses is counted again.
// Thread safety: all members.
#pragma once

#include "base/function_ref.h"
#include "base/status.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/table.h"
#include "engine/catalog/temporary_tables.h"
#include "mvcc/txn_manager.h"
#include "space/page_allocator.h"

namespace rowan {

class StatisticsKeeper {
 public:
  StatisticsKeeper(PageAllocator* allocator, Catalog* catalog, TxnManager* txns,
                   TemporaryTables* temporary)
      : allocator_(allocator), catalog_(catalog), txns_(txns), temporary_(temporary) {}

  /// Now, as ANALYZE wants it. kInterrupted.
  Status Refresh(Table* table, FunctionRef<bool()> interrupted);
  /// Of open tables those that need it, for as long as a tick may take.
  void RefreshDue(FunctionRef<bool()> interrupted);
  /// Stores what the table has, if it is to be kept.
  void Keep(Table* table);

 private:
  PageAllocator* const allocator_;
  Catalog* const catalog_;
  TxnManager* const txns_;
  TemporaryTables* const temporary_;
};

}  // namespace rowan
