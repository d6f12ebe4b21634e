// SPDX-License-Identifier: GPL-2.0-only
// FieldConversion: rows of a table as rows of the table that ALTER makes in its place, column by
// column. Columns keep their meaning; they may change places, come and go, become longer, take NULL
// or not. Thread safety: the thread that alters the table.
#pragma once

#include <memory>
#include <vector>

#include "engine/build/table_rebuild.h"
#include "plugin/codec/table_codec.h"
#include "plugin/handler/computed_columns.h"

class Copy_field;
class Field;
struct TABLE;

namespace rowan {

class FieldConversion final : public RowConversion {
 public:
  /// `former`: for each column of `after` the one of `before` that it was, or kNoColumn for a new
  /// one, whose value is in the first record of `after` and stays there. All outlive it.
  FieldConversion(const TABLE& before, TABLE* after, const std::vector<uint32_t>& former,
                  const TableCodec* codec);
  ~FieldConversion() override;

  /// kUnsupported when the server's error was raised: NULL for a column that takes none, a value
  /// that cannot be computed.
  Status Convert() override;
  [[nodiscard]] const RowCodec& codec() const override;
  [[nodiscard]] void* record() const override;

 private:
  struct Column;

  [[nodiscard]] bool ConvertColumn(const Column& column) const;

  TABLE* const table_;
  const TableCodec* const codec_;
  std::vector<Column> columns_;
  std::unique_ptr<ComputedColumns> computed_columns_;  ///< null: none is in an index
};

}  // namespace rowan
