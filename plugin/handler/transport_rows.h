// SPDX-License-Identifier: GPL-2.0-only
// RowTransport: converts a table's rows to the form of an exported file (docs/formats/export.md),
// and back. Rows are encoded as in the table, except for the history that ALTERs left in it and the
// places of off-page values. Thread safety: the thread that uses the table.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "engine/catalog/table_def.h"
#include "engine/export_file.h"
#include "plugin/codec/table_codec.h"
#include "plugin/handler/computed_columns.h"

struct TABLE;

namespace rowan {

inline constexpr const char* kExportExtension = ".rwx";
inline constexpr const char* kUnfinishedExportExtension = ".rwx_new";

class RowTransport final : private RowCodec::BlobWriter, private RowCodec::BlobReader {
 public:
  /// Rows pass through the table's first record.
  explicit RowTransport(TABLE* table) : table_(table) {}

  /// `own`: the table's current codec.
  Status Prepare(uint32_t page_size_bytes, const TableCodec& own);
  [[nodiscard]] ExportHeader Header() const;
  /// Empty if the rows of a file with this header fit the table; else a clause that says why not.
  [[nodiscard]] std::string Difference(const ExportHeader& header) const;
  /// The definition of a new table for the rows.
  [[nodiscard]] TableDef Definition(const std::string& name) const;
  [[nodiscard]] const RowCodec& codec() const;

  /// Packs the row in the record. The bytes are valid until the next call.
  Status Pack(Bytes key, ExportedRow* row);
  /// Puts the row into the record, which refers to bytes of it.
  Status Unpack(const ExportedRow& row);

 private:
  Status Write(OffPageWrite* value) override;
  Result<Bytes> Read(const OffPageValue& value, uint32_t column) override;

  TABLE* const table_;
  std::unique_ptr<TableCodec> codec_;
  std::unique_ptr<ComputedColumns> computed_columns_;  ///< null: none is in an index
  ByteBuffer row_;
  std::vector<ByteBuffer> values_;  ///< packed, reused
  size_t value_count_ = 0;
  const ExportedRow* unpacked_ = nullptr;
};

}  // namespace rowan
