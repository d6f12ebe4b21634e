// SPDX-License-Identifier: GPL-2.0-only
// TablePart: an engine table that a handler works on, with what reads and writes it and the place
// of the handler's scan. The handler of a plain table has one; that of a partitioned table has one
// for each partition and goes from one to the next (plugin/partition/ha_rowan_part.h), while the
// code that reads and writes is the same. Thread safety: the handler's.
#pragma once

#include <memory>

#include "engine/bulk_load.h"
#include "engine/table_cursor.h"
#include "engine/table_writer.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/table_share.h"

struct TABLE;

namespace rowan {

/// Entries of all indexes that are sorted in memory while rows are loaded, before a run is written
/// to a file.
inline constexpr size_t kLoadMemoryBytes = size_t{64} << 20;

class TablePart {
 public:
  /// `share` is owned by the server's TABLE_SHARE. Null: of no table.
  explicit TablePart(TableShare* share = nullptr) : share_(share) {}

  [[nodiscard]] TableShare* share() const { return share_; }
  [[nodiscard]] const TableCodec& codec() const { return share_->codec(); }
  [[nodiscard]] Table* table() const { return share_->table(); }
  /// Null: no virtual column is in an index.
  [[nodiscard]] ComputedColumns* computed_columns() const { return computed_columns_.get(); }
  /// Of rows with their computed columns.
  [[nodiscard]] const RowCodec* row_codec() const {
    if (computed_columns_ != nullptr) return computed_columns_.get();
    return &codec();
  }
  /// `server_table`: whose records rows go into.
  void MakeReader(TABLE* server_table);
  /// Null before it was made.
  [[nodiscard]] TableCursor* reader() const { return reader_.get(); }
  /// For the next change. REQUIRES: the reader was made. Both outlive that.
  TableWriter* WriterFor(Session* session, StoredEntries* stored_entries);

  std::unique_ptr<BulkLoad> load;  ///< while ALTER TABLE copies into the table
  /// Of the open scan.
  struct Scan {
    bool bounded_by_key = false;   ///< its end is the end of an exact key
    bool search_complete = false;  ///< the last search named the whole key
    bool prepared = false;         ///< PrepareRead was done for what is asked for now
  };
  Scan scan;

 private:
  TableShare* share_;
  std::unique_ptr<ComputedColumns> computed_columns_;
  std::unique_ptr<TableCursor> reader_;
  std::unique_ptr<TableWriter> writer_;  ///< null before the first change
};

}  // namespace rowan
