// SPDX-License-Identifier: GPL-2.0-only
// Rows that were written before ALTER TABLE added or dropped columns (docs/formats/rows.md). They
// stay unchanged: each says in its first byte how many such ALTERs it knows of. The layout keeps a
// list of all columns that some row may have, in the order of the table, and for each from which
// ALTER on and until which one rows have it; the form of the rows of any generation follows from
// the list. It is stored as a part of the table's descriptor. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "plugin/codec/table_layout.h"

namespace rowan {

/// One of them stands between the columns and the history in a descriptor.
inline constexpr std::string_view kHistoryMarks = "@#";

/// Empty for a table whose rows all have the same form.
[[nodiscard]] std::string DescribeHistory(const TableLayout& layout);
/// Gives a layout the history described by `text`. False when that cannot be this table's.
[[nodiscard]] bool RestoreHistory(std::string_view text, TableLayout* layout);
/// Makes `after` read what was written under `before`. `former` has for each column of it the one
/// that it was, or kNoColumn; those have in the rows there are the values of `record`, a record of
/// `after`. False when there were too many such changes. REQUIRES: RowsStay.
[[nodiscard]] bool InheritHistory(const TableLayout& before, const ColumnMap& former,
                                  const unsigned char* record, TableLayout* after);

/// What a stored row looks like: `layout.shape` or a FormerRow; null when it is not a row of the
/// table.
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
/// Puts what such a row has of the fixed columns, and all columns it lacks, into a record.
void FillFromFormerRow(const TableLayout& layout, const FormerRow& form, Bytes row,
                       unsigned char* record);

}  // namespace rowan
