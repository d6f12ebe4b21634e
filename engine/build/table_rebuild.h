// SPDX-License-Identifier: GPL-2.0-only
// TableRebuild: rebuilds a table in another file, while it is in use: with another clustered key,
// other columns, or just compacted. Others read and change the former table concurrently; their
// changes are noted by key (engine/build/online_scan.h).
//
//   Start    nobody else uses the table: creates the new one, in the session's transaction
//   Build    the rows of a snapshot go into the new table as in an ALTER that copies
//            (engine/bulk_load.h); then, repeatedly, the difference to a newer snapshot does,
//            by ordinary row changes of the session
//   Finish   nobody else uses the table: the last difference; the former table is dropped
//
// Both are one transaction's CREATE and DROP (engine/catalog/ddl.h): after a crash there is either
// the former or the new table, and nothing of the other. No other session sees the new table before
// the commit; a snapshot taken before it must not read it (Table::created_by). Thread safety: one
// thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/status.h"
#include "engine/build/online_scan.h"
#include "engine/build_limits.h"
#include "engine/catalog/table.h"
#include "engine/row_codec.h"
#include "engine/session.h"
#include "engine/sort/entry_sorter.h"
#include "engine/table_cursor.h"
#include "engine/table_writer.h"

namespace rowan {

/// How rows of one table become rows of another, as the table's user knows it.
class RowConversion {
 public:
  virtual ~RowConversion() = default;
  /// Converts the record of the former table that was read last. Errors end the rebuild.
  virtual Status Convert() = 0;
  /// Codec of the new table; its records are what Convert makes. If they do not hold a key, rows
  /// keep theirs.
  [[nodiscard]] virtual const RowCodec& codec() const = 0;
  [[nodiscard]] virtual void* record() const = 0;
};

class TableRebuild final : private SnapshotFollower {
 public:
  /// Whether rows of both tables have the same clustered keys.
  enum class Keys : uint8_t { kSame, kOther };

  /// All pointers outlive the rebuild.
  TableRebuild(Session* session, std::shared_ptr<Table> former, const OnlineScan::Rows& rows,
               RowConversion* conversion, Keys keys, const BuildLimits& limits);
  ~TableRebuild() override;

  /// The new table with its name; ids and roots are filled in.
  Status Start(TableDef definition);
  /// kDuplicate: the detail is the number of the index; ReadDuplicate tells the row. kInterrupted
  /// when the session was. What the conversion returns.
  Status Build();
  /// As Build. AUTO_INCREMENT goes on at least at `auto_increment`.
  Status Finish(uint64_t auto_increment);
  [[nodiscard]] const std::shared_ptr<Table>& table() const { return table_; }
  /// After kDuplicate: puts one of the rows into the conversion's record, valid as long as the
  /// rebuild.
  Status ReadDuplicate(uint32_t index_number);

 private:
  // SnapshotFollower.
  void StartRound() override;
  Status Compare(Bytes former_key) override;
  Status EndRound() override;

  Status LoadRows();
  /// `*exists`: whether there is such a row; then it is in the conversion's record.
  Status Convert(Status found, bool* exists);

  Session* const session_;
  const std::shared_ptr<Table> former_;
  RowConversion* const conversion_;
  const Keys keys_;
  const BuildLimits limits_;
  OnlineScan scan_;
  std::shared_ptr<Table> table_;
  std::unique_ptr<TableWriter> writer_;   ///< for the new table
  std::unique_ptr<EntrySorter> waiting_;  ///< former keys of rows to be inserted
  ByteBuffer duplicate_key_;              ///< in the index, of a row that is not in the record
  std::unique_ptr<TableCursor> duplicate_reader_;  ///< has the row's off-page values
};

}  // namespace rowan
