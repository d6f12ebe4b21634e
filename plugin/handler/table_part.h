// SPDX-License-Identifier: GPL-2.0-only
// TablePart: the engine's table that a handler works on, and the handler's place in it. The handler
// of a plain table stands on one from open to close; that of a partitioned table has one for each
// partition and moves itself from one to the next (plugin/partition/ha_rowan_part.h), while the
// code that reads and writes is the same. Thread safety: the handler's.
#pragma once

#include <memory>

#include "engine/bulk_load.h"
#include "engine/table_cursor.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/table_share.h"

namespace rowan {

struct TablePart {
  TableShare* share_ = nullptr;                        ///< owned by the server's TABLE_SHARE
  std::unique_ptr<ComputedColumns> computed_columns_;  ///< null: no virtual column in an index
  std::unique_ptr<TableCursor> reader_;
  std::unique_ptr<BulkLoad> load_;  ///< while ALTER TABLE copies into this table
  bool bounded_by_key_ = false;     ///< the scan's end is the end of an exact key
  bool search_complete_ = false;    ///< the last search named the whole key
  bool prepared_ = false;           ///< PrepareRead was done for what is asked for now
};

}  // namespace rowan
