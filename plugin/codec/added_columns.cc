// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/added_columns.h"

#include <algorithm>
#include <charconv>

#include "base/format.h"

namespace rowan {
namespace {

/// Of the first byte of a row, one bit says something else.
constexpr size_t kGenerationsMax = 127;
constexpr char kNullMark = 'n';
constexpr char kHexDigits[] = "0123456789abcdef";

std::string Hex(Bytes bytes) {
  std::string text;
  for (const std::byte byte : bytes) {
    text += kHexDigits[static_cast<uint8_t>(byte) >> 4];
    text += kHexDigits[static_cast<uint8_t>(byte) & 15];
  }
  return text;
}

bool ParseHex(std::string_view text, std::vector<std::byte>* bytes) {
  if (text.size() % 2 != 0) return false;
  for (size_t i = 0; i < text.size(); i += 2) {
    uint8_t value = 0;
    const char* end = text.data() + i + 2;
    const auto [stop, error] = std::from_chars(text.data() + i, end, value, 16);
    if (error != std::errc() || stop != end) return false;
    bytes->push_back(std::byte{value});
  }
  return true;
}

/// Takes a number and the character behind it off the front.
bool TakeNumber(std::string_view* text, char behind, uint32_t* number) {
  const char* end = text->data() + text->size();
  const auto [stop, error] = std::from_chars(text->data(), end, *number);
  if (error != std::errc() || stop == end || *stop != behind) return false;
  text->remove_prefix(static_cast<size_t>(stop - text->data()) + 1);
  return true;
}

/// The shape of rows with the first columns alone.
RowShape ShapeWith(const TableLayout& layout, uint32_t columns, uint32_t null_bytes) {
  RowShape shape{columns, null_bytes, 0, 0};
  for (uint32_t i = 0; i < columns; ++i) {
    const ColumnInfo& column = layout.columns[i];
    if (!column.in_row()) continue;
    if (column.variable()) {
      ++shape.variable_columns;
    } else {
      shape.fixed_bytes += column.length;
    }
  }
  return shape;
}

bool MayHold(const ColumnInfo& column, const AddedValue& value) {
  if (value.is_null) return column.nullable();
  const size_t bytes = value.bytes.size();
  return column.variable() ? bytes <= column.length : bytes == column.length;
}

}  // namespace

std::string DescribeHistory(const TableLayout& layout) {
  std::string text;
  for (const RowShape& shape : layout.former_rows) {
    text += Format("{}{}:{}:", kHistoryMark, shape.columns, shape.null_bytes);
  }
  for (const AddedValue& value : layout.added) {
    text += Format("{}{},", value.is_null ? std::string(1, kNullMark) : "", Hex(value.bytes));
  }
  return text;
}

bool RestoreHistory(std::string_view text, TableLayout* layout) {
  uint32_t columns_before = 1;
  while (text.starts_with(kHistoryMark)) {
    text.remove_prefix(1);
    uint32_t columns = 0;
    uint32_t null_bytes = 0;
    if (!TakeNumber(&text, ':', &columns) || !TakeNumber(&text, ':', &null_bytes)) return false;
    const bool grows = columns >= columns_before && columns < layout->columns.size();
    if (!grows || null_bytes > layout->null_bytes) return false;
    columns_before = columns + 1;
    layout->former_rows.push_back(ShapeWith(*layout, columns, null_bytes));
  }
  if (layout->former_rows.empty()) return text.empty();
  for (uint32_t i = layout->former_rows[0].columns; i < layout->columns.size(); ++i) {
    const size_t end = text.find(',');
    if (end == std::string_view::npos) return false;
    AddedValue value;
    value.is_null = text.starts_with(kNullMark);
    if (!value.is_null && !ParseHex(text.substr(0, end), &value.bytes)) return false;
    if (!MayHold(layout->columns[i], value)) return false;
    layout->added.push_back(std::move(value));
    text.remove_prefix(end + 1);
  }
  layout->generation = static_cast<uint32_t>(layout->former_rows.size());
  return text.empty() && layout->generation <= kGenerationsMax;
}

bool InheritHistory(const TableLayout& before, const unsigned char* record, TableLayout* after) {
  after->former_rows = before.former_rows;
  after->added = before.added;
  if (after->columns.size() > before.columns.size()) after->former_rows.push_back(before.shape);
  for (size_t i = before.columns.size(); i < after->columns.size(); ++i) {
    const ColumnInfo& column = after->columns[i];
    AddedValue& value = after->added.emplace_back();
    value.is_null = column.IsNull(record);
    if (value.is_null) continue;
    const Bytes bytes = column.Value(record);
    value.bytes.assign(bytes.begin(), bytes.end());
  }
  after->generation = static_cast<uint32_t>(after->former_rows.size());
  return after->generation <= kGenerationsMax;
}

void FillFromFormerRow(const TableLayout& layout, const RowShape& shape, Bytes row,
                       unsigned char* record) {
  std::fill(record + shape.null_bytes, record + layout.null_bytes, static_cast<unsigned char>(0));
  const size_t header = 1 + size_t{shape.null_bytes};
  for (const CopyRun& run : layout.runs) {
    if (run.row_offset >= shape.fixed_bytes) break;
    const uint32_t length = std::min(run.length, shape.fixed_bytes - run.row_offset);
    std::memcpy(record + run.record_offset, row.data() + header + run.row_offset, length);
  }
  const uint32_t first = layout.former_rows[0].columns;
  for (uint32_t i = shape.columns; i < layout.columns.size(); ++i) {
    const ColumnInfo& column = layout.columns[i];
    const AddedValue& value = layout.added[i - first];
    if (column.nullable()) {
      const unsigned char others =
          static_cast<unsigned char>(record[column.null_offset] & ~column.null_bit);
      record[column.null_offset] =
          static_cast<unsigned char>(others | (value.is_null ? column.null_bit : 0));
    }
    // It fits: looked at when the history was restored or made.
    if (!value.is_null) static_cast<void>(column.Store(value.bytes, record));
  }
}

}  // namespace rowan
