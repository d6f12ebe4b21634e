// SPDX-License-Identifier: GPL-2.0-only
// TableDdl: creates, drops, renames and alters tables, each in the transaction of its session: what
// is logged, changed in the catalog, and noted for the end of the transaction. What is undone, and
// when files go: engine/catalog/ddl.h. Thread safety: all members, a session by its thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>

#include "base/ids.h"
#include "base/status.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/ddl.h"
#include "engine/catalog/table.h"
#include "engine/catalog/table_def.h"
#include "engine/catalog/table_ids.h"
#include "space/page_allocator.h"

namespace rowan {

class Session;

class TableDdl {
 public:
  TableDdl(PageAllocator* allocator, Catalog* catalog, DdlLog* log, TableIds* ids)
      : allocator_(allocator), catalog_(catalog), log_(log), ids_(ids) {}

  // Contracts: engine/engine.h.
  Result<std::shared_ptr<Table>> Create(Session* session, TableDef definition,
                                        uint64_t auto_increment);
  Status Drop(Session* session, TableId table);
  Status Rename(Session* session, TableId table, const std::string& new_name);
  Result<std::shared_ptr<Table>> Alter(Session* session, TableDef changed);
  Status CreateIndex(Session* session, const Table& table, IndexId* index, PageNumber* root);
  [[nodiscard]] Result<std::string> DirectoryOf(TableId table) const;

 private:
  /// Creates a table's file, catalog rows and counter. On failure the caller undoes it.
  Result<std::shared_ptr<Table>> Make(Session* session, TableDef* definition,
                                      uint64_t auto_increment);
  /// The same for a changed definition.
  Result<std::shared_ptr<Table>> LogAndAlter(Session* session, const TableDef& former,
                                             TableDef changed);

  PageAllocator* const allocator_;
  Catalog* const catalog_;
  DdlLog* const log_;
  TableIds* const ids_;
};

}  // namespace rowan
