// SPDX-License-Identifier: GPL-2.0-only
// StatisticsKeeper: refreshes the statistics of tables, on request or as rows change, and keeps
// them across restarts: one row per table in the catalog's tree, written by small separate
// transactions, without waiting for durability: what a crash loses is counted again.
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

  /// Refreshes them now, for ANALYZE. kInterrupted.
  Status Refresh(Table* table, FunctionRef<bool()> interrupted);
  /// Refreshes open tables that need it, for as long as a tick may take.
  void RefreshDue(FunctionRef<bool()> interrupted);
  /// Stores the table's statistics, if they are persistent.
  void Keep(Table* table);

 private:
  PageAllocator* const allocator_;
  Catalog* const catalog_;
  TxnManager* const txns_;
  TemporaryTables* const temporary_;
};

}  // namespace rowan
