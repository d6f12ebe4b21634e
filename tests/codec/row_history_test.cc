// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/row_history.h"

#include <gtest/gtest.h>

#include <cstring>
#include <map>
#include <optional>
#include <random>
#include <string>

#include "mysql/strings/m_ctype.h"
#include "plugin/codec/stored_values.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

using std::string_literals::operator""s;

constexpr uint32_t kRecordBytes = 4096;

struct Column {
  uint32_t id = 0;  ///< what it is through all ALTERs
  ColumnKind kind = ColumnKind::kSigned;
  bool nullable = false;
  bool in_key = false;
};

/// A table as a layout: the record has one null bit of the server's own where a column is nullable.
TableLayout LayoutOf(const std::vector<Column>& columns) {
  TableLayout layout;
  uint32_t null_bits = 0;
  for (const Column& column : columns) null_bits += column.nullable ? 1 : 0;
  layout.null_bytes = null_bits == 0 ? 0 : (null_bits + 1 + 7) / 8;
  uint32_t offset = layout.null_bytes;
  uint32_t bit = 1;
  for (const Column& column : columns) {
    ColumnInfo info;
    info.kind = column.kind;
    info.charset = &my_charset_bin;
    info.offset = offset;
    info.length = 4;
    info.length_bytes = column.kind == ColumnKind::kVarchar ? 1 : 0;
    info.in_clustered_key = column.in_key;
    offset += info.length_bytes + info.length;
    if (column.nullable) {
      info.null_offset = bit / 8;
      info.null_bit = static_cast<uint8_t>(1u << bit % 8);
      ++bit;
    }
    if (info.in_row() && !info.variable()) layout.fixed_bytes += info.length;
    layout.columns.push_back(info);
  }
  layout.record_bytes = offset;
  layout.shape = {layout.null_bytes, layout.fixed_bytes};
  return layout;
}

using Value = std::optional<std::string>;  // nullopt: NULL
using Record = std::vector<unsigned char>;

void Put(const ColumnInfo& column, const Value& value, Record* record) {
  if (!value.has_value()) {
    (*record)[column.null_offset] |= column.null_bit;
  } else {
    ASSERT_TRUE(column.Store(AsBytes(*value), record->data()));
  }
}

/// The row as docs/formats/rows.md has it; all variable values stand in it.
std::vector<std::byte> RowOf(const TableLayout& layout, const std::vector<Value>& values) {
  Record record(kRecordBytes);
  for (size_t i = 0; i < values.size(); ++i) Put(layout.columns[i], values[i], &record);
  std::vector<std::byte> row{static_cast<std::byte>(layout.generation << 1)};
  const auto append = [&row](Bytes bytes) { row.insert(row.end(), bytes.begin(), bytes.end()); };
  append({reinterpret_cast<const std::byte*>(record.data()), layout.null_bytes});
  for (const ColumnInfo& column : layout.columns) {
    if (!column.in_row() || column.variable()) continue;
    append({reinterpret_cast<const std::byte*>(record.data()) + column.offset, column.length});
  }
  for (size_t i = 0; i < values.size(); ++i) {
    if (!layout.columns[i].variable() || !values[i].has_value()) continue;
    row.push_back(static_cast<std::byte>(values[i]->size() << 1));
    append(AsBytes(*values[i]));
  }
  return row;
}

/// What a former row has in each column of the table as it is; not of those in the key.
std::vector<Value> Read(const TableLayout& layout, Bytes row) {
  const RowShape* shape = ShapeOf(layout, row);
  const FormerRow* form = AsFormerRow(layout, *shape);
  Record record(kRecordBytes, 0xEE);
  FillFromFormerRow(layout, *form, row, record.data());
  VariableReader reader(*shape, row);
  Bytes value;
  PlacedValue::Place place{};
  for (const RowNullBit& variable : form->variables) {
    if (variable.IsSet(row)) continue;
    EXPECT_TRUE(reader.Next(&value, &place));
    if (variable.column == kNoColumn) continue;
    EXPECT_TRUE(layout.columns[variable.column].Store(value, record.data()));
  }
  EXPECT_FALSE(reader.Next(&value, &place)) << "more values than columns";
  std::vector<Value> values;
  for (const ColumnInfo& column : layout.columns) {
    values.emplace_back();
    if (column.in_row() && !column.IsNull(record.data())) {
      values.back() = AsText(column.Value(record.data()));
    }
  }
  return values;
}

constexpr Column kId{0, ColumnKind::kSigned, false, true};

TEST(RowHistoryTest, AColumnThatWasAddedHasItsDefaultInOlderRows) {
  const Column a{1, ColumnKind::kSigned, true};
  const TableLayout before = LayoutOf({kId, a});
  TableLayout after = LayoutOf({kId, a, {2, ColumnKind::kSigned}, {3, ColumnKind::kVarchar, true}});
  Record defaults(kRecordBytes);
  Put(after.columns[2], "\7\0\0\0"s, &defaults);
  Put(after.columns[3], std::nullopt, &defaults);
  ASSERT_TRUE(InheritHistory(before, {0, 1, kNoColumn, kNoColumn}, defaults.data(), &after));
  EXPECT_EQ(DescribeHistory(after), "@1:+;+;+1:07000000;+1:n;");
  EXPECT_EQ(Read(after, RowOf(before, {"key!", "abcd"})),
            (std::vector<Value>{std::nullopt, "abcd", "\7\0\0\0"s, std::nullopt}));
  EXPECT_EQ(Read(after, RowOf(before, {"key!", std::nullopt}))[1], std::nullopt);
}

TEST(RowHistoryTest, AColumnThatWasDroppedIsPassedOver) {
  const Column b{2, ColumnKind::kVarchar};
  const TableLayout before =
      LayoutOf({kId, {1, ColumnKind::kSigned}, b, {3, ColumnKind::kVarchar, true}});
  TableLayout after = LayoutOf({kId, b});
  ASSERT_TRUE(InheritHistory(before, {0, 2}, nullptr, &after));
  EXPECT_EQ(DescribeHistory(after), "@1:+;-f4:0:1;+;-vn0:0:1;");
  EXPECT_EQ(Read(after, RowOf(before, {"key!", "gone", "kept", "too"}))[1], "kept");
  EXPECT_EQ(Read(after, RowOf(before, {"key!", "gone", "kept", std::nullopt}))[1], "kept");
}

TEST(RowHistoryTest, TheFirstByteTellsTheGeneration) {
  const TableLayout before = LayoutOf({kId, {1, ColumnKind::kSigned}});
  TableLayout after = LayoutOf({kId});
  ASSERT_TRUE(InheritHistory(before, {0}, nullptr, &after));
  const auto shape = [&after](uint8_t first) {
    const std::byte row[] = {std::byte{first}, std::byte{0}};
    return ShapeOf(after, row);
  };
  EXPECT_EQ(shape(0), &after.former_rows[0]);
  EXPECT_EQ(shape(1), &after.former_rows[0]);  // with a shared value
  EXPECT_EQ(shape(1 << 1), &after.shape);
  EXPECT_EQ(shape(2 << 1), nullptr);
  EXPECT_EQ(ShapeOf(after, {}), nullptr);
}

TEST(RowHistoryTest, WithoutAChangeOfTheRowsThereIsNoNewGeneration) {
  const TableLayout before = LayoutOf({kId, {1, ColumnKind::kSigned}});
  TableLayout after = before;
  ASSERT_TRUE(InheritHistory(before, {0, 1}, nullptr, &after));
  EXPECT_EQ(after.generation, 0u);
  EXPECT_EQ(DescribeHistory(after), "");
}

TEST(RowHistoryTest, ThereAreAtMost127Generations) {
  TableLayout table = LayoutOf({kId, {1, ColumnKind::kSigned}});
  Record defaults(kRecordBytes);
  for (int alters = 1; alters <= 127; ++alters) {
    TableLayout next = LayoutOf({kId, {1, ColumnKind::kSigned}});
    ASSERT_TRUE(InheritHistory(table, {0, kNoColumn}, defaults.data(), &next)) << alters;
    table = next;
  }
  TableLayout next = LayoutOf({kId, {1, ColumnKind::kSigned}});
  EXPECT_FALSE(InheritHistory(table, {0, kNoColumn}, defaults.data(), &next));
}

TEST(RowHistoryTest, TheEarlyFormOfColumnsAddedAtTheEndIsRead) {
  TableLayout table = LayoutOf({kId, {1, ColumnKind::kSigned, true}, {2, ColumnKind::kSigned}});
  ASSERT_TRUE(RestoreHistory("#2:1:07000000,", &table));
  EXPECT_EQ(DescribeHistory(table), "@1:+;+;+1:07000000;");
}

TEST(RowHistoryTest, WhatIsNoHistoryOfTheTableIsRefused) {
  for (const char* text : {"@",
                           "@1",
                           "@:+;+;",
                           "@1:+;",
                           "@1:+;+;+;",
                           "@1:+;+2:00000000;",
                           "@1:+;+0:00000000;",
                           "@1:+;+1:0000;",
                           "@1:+;+1:0000000g;",
                           "@1:+;+1:n;",
                           "@1:+1:00000000;+;",
                           "@1:+;+1:00000000",
                           "@1:+;-x4:0:1;+;",
                           "@1:+;-f4:1:1;+;",
                           "@1:+;-f4:0:2;+;",
                           "@1:+;-f4:0;+;",
                           "x",
                           "#",
                           "#1:0:",
                           "#2:0:00000000,",
                           "#1:0:00000000",
                           "#1:0:0000,",
                           "#1:0:00000000,00000000,"}) {
    TableLayout table = LayoutOf({kId, {1, ColumnKind::kSigned}});
    EXPECT_FALSE(RestoreHistory(text, &table)) << text;
  }
}

/// ALTERs at random; what each row that was ever written has in columns of today is known.
TEST(RowHistoryTest, RowsOfAllGenerationsKeepTheirValues) {
  std::mt19937_64 random(TestSeed());
  const auto value = [&random](const Column& column) -> Value {
    if (column.nullable && random() % 3 == 0) return std::nullopt;
    std::string text(column.kind == ColumnKind::kVarchar ? random() % 5 : 4, '\0');
    for (char& byte : text) byte = static_cast<char>(random());
    return text;
  };
  std::vector<Column> columns{kId, {1, ColumnKind::kSigned, true}};
  TableLayout table = LayoutOf(columns);
  std::vector<std::pair<std::vector<std::byte>, std::map<uint32_t, Value>>> rows;
  for (uint32_t alters = 0; alters < 100; ++alters) {
    std::vector<Value> values;
    std::map<uint32_t, Value> by_id;
    for (const Column& column : columns) by_id[column.id] = values.emplace_back(value(column));
    rows.emplace_back(RowOf(table, values), by_id);

    std::vector<Column> changed = columns;
    ColumnMap former(changed.size());
    for (uint32_t i = 0; i < former.size(); ++i) former[i] = i;
    const size_t at = 1 + random() % changed.size();
    if (at < changed.size() && random() % 2 == 0) {
      changed.erase(changed.begin() + static_cast<ptrdiff_t>(at));
      former.erase(former.begin() + static_cast<ptrdiff_t>(at));
    } else {
      const ColumnKind kind = random() % 2 == 0 ? ColumnKind::kSigned : ColumnKind::kVarchar;
      changed.insert(changed.begin() + static_cast<ptrdiff_t>(at),
                     {alters + 2, kind, random() % 2 == 0});
      former.insert(former.begin() + static_cast<ptrdiff_t>(at), kNoColumn);
    }
    TableLayout next = LayoutOf(changed);
    Record defaults(kRecordBytes);
    for (size_t i = 0; i < changed.size(); ++i) {
      if (former[i] != kNoColumn) continue;
      const Value added = value(changed[i]);
      Put(next.columns[i], added, &defaults);
      for (auto& row : rows) row.second[changed[i].id] = added;
    }
    ASSERT_TRUE(InheritHistory(table, former, defaults.data(), &next));
    table = LayoutOf(changed);
    ASSERT_TRUE(RestoreHistory(DescribeHistory(next), &table));
    EXPECT_EQ(DescribeHistory(table), DescribeHistory(next));
    columns = changed;

    for (const auto& [row, by_column] : rows) {
      if (AsFormerRow(table, *ShapeOf(table, row)) == nullptr) continue;
      const std::vector<Value> read = Read(table, row);
      for (size_t i = 1; i < columns.size(); ++i) {
        ASSERT_EQ(read[i], by_column.at(columns[i].id)) << DescribeHistory(table);
      }
    }
  }
}

}  // namespace
}  // namespace rowan
