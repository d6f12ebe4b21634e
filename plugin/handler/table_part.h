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
#include "plugin/codec/spatial_scan.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/stored_row.h"
#include "plugin/handler/table_share.h"

struct TABLE;

namespace rowan {

/// Entries of all indexes that are sorted in memory while rows are loaded, before a run is written
/// to a file.
inline constexpr size_t kLoadMemoryBytes = size_t{64} << 20;

class TablePart {
 public:
  /// Of no table.
  TablePart() = default;
  /// `server_table`: whose records rows go into. `share` is owned by the server's TABLE_SHARE.
  TablePart(TABLE* server_table, TableShare* share) : server_table_(server_table), share_(share) {}

  [[nodiscard]] TABLE* server_table() const { return server_table_; }
  [[nodiscard]] TableShare* share() const { return share_; }
  [[nodiscard]] const TableCodec& codec() const { return share_->codec(); }
  [[nodiscard]] Table* table() const { return share_->table(); }
  [[nodiscard]] bool is_temporary() const { return IsTemporary(table()->id()); }
  /// Null: no virtual column is in an index.
  [[nodiscard]] ComputedColumns* computed_columns() const { return computed_columns_.get(); }
  /// Whether rows are read from now on with computed columns (computed_columns.h).
  void ComputeColumns(bool active) {
    if (computed_columns_ != nullptr) computed_columns_->set_active(active);
  }
  /// Of rows with their computed columns.
  [[nodiscard]] const RowCodec* row_codec() const {
    if (computed_columns_ != nullptr) return computed_columns_.get();
    return &codec();
  }

  void MakeReader();
  /// Null before it was made.
  [[nodiscard]] TableCursor* reader() const { return reader_.get(); }
  /// To client and error log: what the result lacks, as damaged parts were passed over.
  void ReportSalvage(THD* thd);
  /// What the statement read is counted, and what it left behind goes.
  void EndStatement(THD* thd);

  // REQUIRES: the reader was made.
  /// For the next change. `session` outlives that.
  TableWriter* WriterFor(Session* session);
  /// Cascades of a change may return to the row that they began with.
  [[nodiscard]] bool cascades_may_return() const { return stored_row_ != nullptr; }
  /// The row that is to be changed, which the server read as `read`: the same, or read again as a
  /// cascade may have changed it. kNotFound: it may also have deleted it.
  Status FindStored(const unsigned char* read, Session* session, StoredRecord* row);

  std::unique_ptr<BulkLoad> load;  ///< while ALTER TABLE copies into the table
  /// Of the open scan.
  struct Scan {
    bool bounded_by_key = false;           ///< its end is the end of an exact key
    bool search_complete = false;          ///< the last search named the whole key
    bool prepared = false;                 ///< PrepareRead was done for what is asked for now
    const void* read_set = nullptr;        ///< with these columns: merged scans exchange them
    bool skips_rows = false;               ///< it has not begun, and has rows to skip first
    std::unique_ptr<SpatialScan> spatial;  ///< once a SPATIAL index is searched
  };
  Scan scan;

 private:
  TABLE* server_table_ = nullptr;
  TableShare* share_ = nullptr;
  std::unique_ptr<ComputedColumns> computed_columns_;
  std::unique_ptr<TableCursor> reader_;
  std::unique_ptr<StoredEntryFinder> stored_entries_;
  std::unique_ptr<TableWriter> writer_;  ///< null before the first change
  std::unique_ptr<StoredRow> stored_row_;
};

}  // namespace rowan
