// SPDX-License-Identifier: GPL-2.0-only
// Rows that were written before ALTER TABLE added columns at the end (docs/formats/rows.md). They
// stay as they are: each row says in its first byte how many such ALTERs it knows of, the layout
// keeps what rows looked like before each, and what the columns behind have in these rows. Kept
// from run to run as a part of the table's descriptor. Thread safety: pure functions.
#pragma once

#include <string>
#include <string_view>

#include "plugin/codec/table_layout.h"

namespace rowan {

/// Between the columns and the history in a descriptor.
inline constexpr char kHistoryMark = '#';

/// Empty for a table whose rows all look alike.
[[nodiscard]] std::string DescribeHistory(const TableLayout& layout);
/// Gives a layout the history that was described so. False when that cannot be this table's.
[[nodiscard]] bool RestoreHistory(std::string_view text, TableLayout* layout);
/// Makes `after` read what was written under `before`, whose columns it begins with; others have
/// the values of `record` there, a record of `after`. False when there were too many such changes.
[[nodiscard]] bool InheritHistory(const TableLayout& before, const unsigned char* record,
                                  TableLayout* after);

/// What a stored row looks like; null when it is none of the table.
[[nodiscard]] inline const RowShape* ShapeOf(const TableLayout& layout, Bytes row) {
  if (row.empty()) return nullptr;
  const uint32_t generation = static_cast<uint8_t>(row[0]) >> 1;
  if (generation == layout.generation) return &layout.shape;
  return generation < layout.generation ? &layout.former_rows[generation] : nullptr;
}
/// Puts what such a row has of the fixed columns, and all columns it lacks, into a record.
void FillFromFormerRow(const TableLayout& layout, const RowShape& shape, Bytes row,
                       unsigned char* record);

}  // namespace rowan
