// SPDX-License-Identifier: GPL-2.0-only
// TableSample: the rows of leaves of a table that are chosen at random (btree/leaf_sample.h), for
// statistics about column values. Only the chosen leaves are read. Thread safety: one thread.
#pragma once

#include "base/random.h"
#include "base/status.h"
#include "btree/leaf_sample.h"
#include "engine/catalog/table.h"
#include "engine/table_cursor.h"

namespace rowan {

class TableSample {
 public:
  /// `share`: of the leaves; with 1 every row is read. The cursor reads the rows; a scan of the
  /// clustered index has been opened on it but not begun. All pointers outlive the sample.
  TableSample(TableCursor* cursor, Table* table, double share, Random* random)
      : cursor_(cursor), whole_(share >= 1), leaves_(&table->index(0)->tree, share, random) {}

  /// The next row. kEndOfRange, and the errors of the cursor.
  Status Next(void* record);

 private:
  TableCursor* const cursor_;
  const bool whole_;
  LeafSample leaves_;
  bool reading_ = false;  ///< the cursor is within chosen leaves
};

}  // namespace rowan
