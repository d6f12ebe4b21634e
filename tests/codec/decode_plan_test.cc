// SPDX-License-Identifier: GPL-2.0-only
// What a plan takes from rows, and when it may be used.
#include "plugin/codec/decode_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "my_bitmap.h"

#include "plugin/codec/table_layout.h"
#include "plugin/codec/wanted_columns.h"

namespace rowan {
namespace {

using Form = DecodePlan::Form;

constexpr uint32_t kColumns = 70;  // several words of a bitmap

/// Some columns of a table, by their numbers.
class ColumnSet {
 public:
  explicit ColumnSet(const std::vector<uint32_t>& columns) {
    map_.bitmap = words_;
    map_.n_bits = kColumns;
    for (const uint32_t column : columns) Add(column);
  }
  void Add(uint32_t column) { bitmap_set_bit(&map_, column); }
  void Remove(uint32_t column) { bitmap_clear_bit(&map_, column); }
  [[nodiscard]] const MY_BITMAP* map() const { return &map_; }

 private:
  my_bitmap_map words_[3] = {};
  MY_BITMAP map_;
};

/// Columns of which every second one is a VARCHAR, nullable and longer from column to column.
TableLayout Table() {
  TableLayout layout;
  layout.indexes.resize(1);
  layout.null_bytes = 5;
  layout.shape.null_bytes = 5;
  for (uint32_t i = 0; i < kColumns; ++i) {
    ColumnInfo& column = layout.columns.emplace_back();
    column.field = i;
    if (i % 2 == 0) continue;
    column.kind = ColumnKind::kVarchar;
    column.length = 10 * i;
    column.length_bytes = column.length < 256 ? 1 : 2;
    column.offset = 100 * i;
    column.null_offset = i / 2 / 8;
    column.null_bit = static_cast<uint8_t>(1u << (i / 2 % 8));
    layout.variable_columns.push_back(i);
  }
  return layout;
}

std::vector<uint32_t> WantedOf(const DecodePlan& plan) {
  std::vector<uint32_t> wanted;
  for (const DecodePlan::Variable& variable : plan.variables) {
    if (variable.form != Form::kUnwanted) wanted.push_back(variable.column->field);
  }
  return wanted;
}

TEST(DecodePlanTest, EndsWithTheLastWantedColumn) {
  const TableLayout layout = Table();
  DecodePlan plan;
  plan.Compile(layout, ColumnSet({0, 3, 9, 40}).map());
  EXPECT_EQ(WantedOf(plan), (std::vector<uint32_t>{3, 9}));
  ASSERT_EQ(plan.variables.size(), 5u);
  EXPECT_EQ(plan.variables[4].offset, 900u);
  EXPECT_EQ(plan.variables[4].length, 90u);
  EXPECT_EQ(plan.variables[4].form, Form::kShortVarchar);
  EXPECT_EQ(plan.variables[4].null_bit, 1u << 4);
  plan.Compile(layout, ColumnSet({0, 2}).map());
  EXPECT_TRUE(plan.variables.empty());
  plan.Compile(layout, nullptr);
  EXPECT_EQ(WantedOf(plan).size(), kColumns / 2);
  EXPECT_EQ(plan.variables.back().form, Form::kLongVarchar);
  EXPECT_EQ(plan.variables.back().null_offset, 4u);
}

TEST(DecodePlanTest, KnowsCharactersOfOneByteFromOthers) {
  TableLayout layout = Table();
  layout.columns[1].kind = layout.columns[3].kind = ColumnKind::kChar;
  layout.columns[1].pads_bytes = true;
  layout.columns[5].kind = ColumnKind::kBlob;
  DecodePlan plan;
  plan.Compile(layout, nullptr);
  EXPECT_EQ(plan.variables[0].form, Form::kPadded);
  EXPECT_EQ(plan.variables[1].form, Form::kOther);
  EXPECT_EQ(plan.variables[2].form, Form::kOther);
}

TEST(DecodePlanTest, LeavesAKeyThatIsNotPlainToItsParts) {
  TableLayout layout = Table();
  layout.columns[0].length = 4;
  KeyPartCodec part;
  std::string refusal;
  ASSERT_TRUE(MakeKeyPart(layout.columns[0], 4, false, &part, &refusal)) << refusal;
  part.column = 0;
  DecodePlan plan;
  for (const bool descending : {false, true}) {
    part.descending = descending;
    layout.indexes[0].plain = PlainKey({part, part}, 2, layout.columns);
    plan.Compile(layout, nullptr);
    EXPECT_EQ(plan.plain_key, !descending);
    EXPECT_EQ(plan.key_bytes, descending ? 0u : 8u);
    EXPECT_EQ(plan.fixed.size(), plan.fixed_of_row + (descending ? 0 : 2));
  }
}

TEST(DecodePlanTest, TakesBytesOfAnyLength) {
  std::string row(64, '\0');
  std::string key(64, '\0');
  for (size_t i = 0; i < row.size(); ++i) {
    row[i] = static_cast<char>(i);
    key[i] = static_cast<char>(i + 100);
  }
  for (uint32_t length = 1; length <= 40; ++length) {
    const std::vector<FixedStep> steps{FixedStep::OfRow(3, 50, length),
                                       FixedStep::OfKey(2, 110, length),
                                       FixedStep::OfReversedKey(7, 170, length, true)};
    std::string record(256, 'x');
    TakeFixed(steps, AsBytes(row).data(), AsBytes(key).data(),
              reinterpret_cast<unsigned char*>(record.data()));
    std::string reversed = key.substr(7, length);
    std::reverse(reversed.begin(), reversed.end());
    reversed.back() = static_cast<char>(reversed.back() ^ 0x80);
    std::string expected(256, 'x');
    expected.replace(50, length, row, 3, length);
    expected.replace(110, length, key, 2, length);
    expected.replace(170, length, reversed);
    ASSERT_EQ(record, expected) << length;
  }
}

TEST(WantedColumnsTest, HasAPlanWhileItsColumnsStayTheSame) {
  const TableLayout layout = Table();
  ColumnSet columns({1, 67});
  WantedColumns wanted;
  wanted.Set(layout, columns.map());
  ASSERT_NE(wanted.plan(), nullptr);
  EXPECT_EQ(WantedOf(*wanted.plan()), (std::vector<uint32_t>{1, 67}));
  for (const uint32_t added : {3u, 69u}) {
    columns.Add(added);
    EXPECT_EQ(wanted.plan(), nullptr) << added;
    columns.Remove(added);
    EXPECT_NE(wanted.plan(), nullptr) << added;
  }
  columns.Add(69);
  wanted.Set(layout, columns.map());
  ASSERT_NE(wanted.plan(), nullptr);
  EXPECT_EQ(WantedOf(*wanted.plan()), (std::vector<uint32_t>{1, 67, 69}));
}

TEST(WantedColumnsTest, FollowsTheBitmapThatItWasGivenLast) {
  const TableLayout layout = Table();
  const ColumnSet first({5});
  ColumnSet second({5});
  WantedColumns wanted;
  wanted.Set(layout, first.map());
  wanted.Set(layout, second.map());
  EXPECT_EQ(wanted.bitmap(), second.map());
  second.Add(7);
  EXPECT_EQ(wanted.plan(), nullptr);
}

}  // namespace
}  // namespace rowan
