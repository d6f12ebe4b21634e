// SPDX-License-Identifier: GPL-2.0-only
// BulkLoad: fills a table that the session's own transaction created and no other session can see:
// the copy of ALTER TABLE. Rows become leaves directly, secondary entries are sorted and become
// trees built bottom-up. No row is locked, nothing is undone row by row: rollback and recovery
// remove the whole file, because the table's own creation is part of the same transaction.
//
// Rows are expected in key order, or sorted first. From the first one that is not in order,
// clustered rows go the ordinary way (with undo), which also finds duplicates; entries are still
// sorted. Snapshots taken before the transaction commits do not see the table
// (Session::OpenSnapshotFor), so entries need no creator.
// Thread safety: one thread; Finish builds indexes with more.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "btree/bulk_builder.h"
#include "engine/build_limits.h"
#include "engine/catalog/table.h"
#include "engine/session.h"
#include "engine/sort/entry_sorter.h"

namespace rowan {

class BulkLoad {
 public:
  /// True if the table was created by the session's open transaction and is still empty.
  static Result<bool> IsPossible(Session* session, Table* table);

  enum class RowOrder : uint8_t { kByKey, kAny };
  BulkLoad(Session* session, Table* table, const BuildLimits& limits,
           RowOrder order = RowOrder::kByKey);
  ~BulkLoad();

  /// kDuplicate with detail 0 for a clustered key that exists, from Finish if rows come in any
  /// order; else as Session::InsertRow.
  Status AddRow(Bytes key, Bytes row);
  Status AddEntry(const IndexEntry& entry);
  /// Builds everything, with as many threads as the limits say; nothing can be read before.
  /// kDuplicate: detail is the number of the index, duplicate_key() the later one of two entries.
  /// kInterrupted when the session was.
  Status Finish();
  [[nodiscard]] Bytes duplicate_key() const { return duplicate_key_; }

 private:
  Status PutAll();
  Status PutRow(Bytes key, Bytes row);
  Status PutInOrder(Bytes key, Bytes row);
  Status PutSortedRows();
  Status BuildIndexes();

  Session* const session_;
  Table* const table_;
  const BuildLimits limits_;
  std::unique_ptr<BulkBuilder> rows_;  ///< null once rows went out of order
  std::vector<std::byte> last_key_;
  std::vector<std::byte> value_;
  /// By index number; [0] is for rows in any order, else null.
  std::vector<std::unique_ptr<EntrySorter>> sorters_;
  std::vector<std::byte> duplicate_key_;
};

}  // namespace rowan
