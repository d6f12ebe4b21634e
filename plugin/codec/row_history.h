// SPDX-License-Identifier: GPL-2.0-only
// Rows that were written before ALTER TABLE added or dropped columns (docs/formats/rows.md). They
// stay unchanged: the first byte of each says how many such ALTERs it knows of. The layout lists
// all columns that some row may have, in table order, with the ALTERs from which and until which
// rows have them; the form of the rows of any generation follows from the list, which is stored in
// the table's descriptor. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "plugin/codec/table_layout.h"

namespace rowan {

/// One of these characters separates the columns from the history in a descriptor.
inline constexpr std::string_view kHistoryMarks = "@#";

/// Empty for a table whose rows all have the same form.
[[nodiscard]] std::string DescribeHistory(const TableLayout& layout);
/// Gives a layout the history described by `text`. False when it cannot be this table's.
[[nodiscard]] bool RestoreHistory(std::string_view text, TableLayout* layout);
/// Makes `after` read what was written under `before`. `former` maps each column of `after` to the
/// one that it was, or to kNoColumn: existing rows then have its value from `record`, a record of
/// `after`. False after too many such changes. REQUIRES: RowsStay.
[[nodiscard]] bool InheritHistory(const TableLayout& before, const ColumnMap& former,
                                  const unsigned char* record, TableLayout* after);

/// The form of a stored row: `layout.shape` or a FormerRow; null when it is not a row of the table.
[[nodiscard]] inline const RowShape* ShapeOf(const TableLayout& layout, Bytes row) {
  if (row.empty()) return nullptr;
  const uint32_t generation = static_cast<uint8_t>(row[0]) >> 1;
  if (generation == layout.generation) return &layout.shape;
  return generation < layout.generation ? &layout.former_rows[generation] : nullptr;
}
[[nodiscard]] inline const FormerRow* AsFormerRow(const TableLayout& layout,
                                                  const RowShape& shape) {
  return &shape == &layout.shape ? nullptr : static_cast<const FormerRow*>(&shape);
}
/// Fills a record with the fixed columns that such a row has and with all columns that it lacks.
void FillFromFormerRow(const TableLayout& layout, const FormerRow& form, Bytes row,
                       unsigned char* record);

}  // namespace rowan
