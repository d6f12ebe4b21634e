// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/column_place.h"

namespace rowan {
namespace {

ColumnPlace::NullBit NullBitOf(const TableLayout& layout, uint32_t column) {
  const ColumnInfo& info = layout.columns[column];
  return {1 + info.null_offset, info.null_bit};
}

std::optional<ColumnPlace> FindInRow(const TableLayout& layout, uint32_t column,
                                     const char** reason) {
  const ColumnInfo& info = layout.columns[column];
  ColumnPlace place{.nullable = info.nullable(), .null_bit = NullBitOf(layout, column)};
  if (info.variable()) {
    place.form = ColumnPlace::Form::kVariableInRow;
    for (const uint32_t other : layout.variable_columns) {
      if (other == column) return place;
      place.before.push_back(NullBitOf(layout, other));
    }
  }
  for (const CopyRun& run : layout.runs) {
    if (info.offset < run.record_offset || info.offset >= run.record_offset + run.length) continue;
    place.offset = layout.row_header_bytes() + run.row_offset + (info.offset - run.record_offset);
    return place;
  }
  *reason = "column that is not stored";
  return std::nullopt;
}

std::optional<ColumnPlace> FindInKey(const IndexLayout& index, uint32_t column,
                                     const char** reason) {
  ColumnPlace place{.form = ColumnPlace::Form::kFixedInKey};
  for (const KeyPartCodec& part : index.parts) {
    const bool has_value = part.column == column && part.whole_column && part.reversible &&
                           place.part != index.array_part && part.encoding < KeyEncoding::kEscaped;
    if (has_value && !part.descending) {
      place.nullable = part.nullable;
      if (part.nullable) place.form = ColumnPlace::Form::kPartOfKey;
      return place;
    }
    if (part.nullable || part.variable()) place.form = ColumnPlace::Form::kPartOfKey;
    place.offset += part.length;
    ++place.part;
  }
  *reason = "column that the index has in another form";
  return std::nullopt;
}

}  // namespace

std::optional<ColumnPlace> FindColumn(const TableLayout& layout, uint32_t index_number,
                                      uint32_t column, const char** reason) {
  const ColumnInfo& info = layout.columns[column];
  if (index_number == 0 && info.in_row()) return FindInRow(layout, column, reason);
  const IndexLayout& index = layout.indexes[index_number];
  if (index.spatial != nullptr || index.text != nullptr || info.is_virtual) {
    *reason = "kind of index or column";
    return std::nullopt;
  }
  return FindInKey(index, column, reason);
}

}  // namespace rowan
