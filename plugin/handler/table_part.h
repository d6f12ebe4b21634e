// SPDX-License-Identifier: GPL-2.0-only
// TablePart: an engine table that a handler works on, with its reader and writer and the place of
// the handler's scan. The handler of a plain table has one; that of a partitioned table has one for
// each partition and moves between them (plugin/partition/ha_rowan_part.h), with the same code for
// reading and writing. Thread safety: the handler's.
#pragma once

#include <memory>

#include "engine/bulk_load.h"
#include "engine/table_cursor.h"
#include "engine/table_writer.h"
#include "plugin/codec/spatial_scan.h"
#include "plugin/codec/table_codec.h"
#include "plugin/codec/wanted_columns.h"
#include "plugin/handler/computed_columns.h"
#include "plugin/handler/stored_row.h"
#include "plugin/handler/table_share.h"

struct TABLE;

namespace rowan {

/// Memory for sorting the entries of all indexes while rows are loaded, before a run is written to
/// a file.
inline constexpr size_t kLoadMemoryBytes = size_t{64} << 20;

class TablePart {
 public:
  /// Belongs to no table.
  TablePart() = default;
  /// `server_table`: rows go into its records. `share` is owned by the server's TABLE_SHARE.
  TablePart(TABLE* server_table, TableShare* share) : server_table_(server_table), share_(share) {}

  [[nodiscard]] TABLE* server_table() const { return server_table_; }
  [[nodiscard]] TableShare* share() const { return share_; }
  [[nodiscard]] const TableCodec& codec() const { return share_->codec(); }
  [[nodiscard]] Table* table() const { return share_->table(); }
  [[nodiscard]] bool is_temporary() const { return IsTemporary(table()->id()); }
  /// Null if no virtual column is in an index.
  [[nodiscard]] ComputedColumns* computed_columns() const { return computed_columns_.get(); }
  /// Whether rows are from now on read with computed columns (computed_columns.h).
  void ComputeColumns(bool active) {
    if (computed_columns_ != nullptr) computed_columns_->set_active(active);
  }
  /// The codec of rows with their computed columns.
  [[nodiscard]] const RowCodec* row_codec() const {
    if (computed_columns_ != nullptr) return computed_columns_.get();
    return &codec();
  }

  void MakeReader();
  /// Null until it is made.
  [[nodiscard]] TableCursor* reader() const { return reader_.get(); }
  /// What the reader delivers, from the next read on; null: all columns. The bitmap stays.
  void SetColumns(const MY_BITMAP* columns, RowKeys keys) {
    if (columns != nullptr) wanted_.Set(codec().layout(), columns);
    reader_->SetColumns(columns == nullptr ? nullptr : &wanted_, keys);
  }
  /// Tells client and error log what the result lacks because damaged parts were skipped.
  void ReportSalvage(THD* thd);
  /// Counts the statement's reads and cleans up after it.
  void EndStatement(THD* thd);

  // REQUIRES: the reader was made.
  /// The writer for the next change. `session` outlives that.
  TableWriter* WriterFor(Session* session);
  /// True if cascades of a change may return to the row that they began with.
  [[nodiscard]] bool cascades_may_return() const { return reread_row_ != nullptr; }
  /// The row to be changed, which the server read as `read`: the same, or reread because a cascade
  /// may have changed it. kNotFound: a cascade has deleted it.
  Status FindStored(const unsigned char* read, Session* session, StoredRecord* row);

  std::unique_ptr<BulkLoad> load;  ///< while ALTER TABLE copies into the table
  /// State of the open scan.
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
  WantedColumns wanted_;
  std::unique_ptr<TableCursor> reader_;
  std::unique_ptr<StoredEntryFinder> stored_entries_;
  std::unique_ptr<TableWriter> writer_;  ///< null before the first change
  std::unique_ptr<RereadRow> reread_row_;
};

}  // namespace rowan
