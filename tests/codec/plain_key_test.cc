// SPDX-License-Identifier: GPL-2.0-only
// A plain key is what its parts make of it one by one, in each direction.
#include "plugin/codec/plain_key.h"

#include <gtest/gtest.h>

#include <random>
#include <string>
#include <vector>

#include "plugin/codec/table_layout.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

using Key = std::vector<std::byte>;

/// A table of columns in a row of a record, and an index on all of them.
struct Columns {
  std::vector<ColumnInfo> columns;
  std::vector<KeyPartCodec> parts;
  uint32_t record_bytes = 1;  ///< after the null bitmap

  void Add(ColumnKind kind, uint32_t length) {
    ColumnInfo column{.field = static_cast<uint32_t>(columns.size()),
                      .kind = kind,
                      .offset = record_bytes,
                      .length = length};
    KeyPartCodec part;
    std::string refusal;
    ASSERT_TRUE(MakeKeyPart(column, length, false, &part, &refusal)) << refusal;
    part.column = column.field;
    record_bytes += length;
    columns.push_back(column);
    parts.push_back(part);
  }
  [[nodiscard]] PlainKey Plain() const { return PlainKey(parts, parts.size(), columns); }
  [[nodiscard]] Key KeyOf(const std::string& record, size_t part_count) const {
    Key key;
    const auto* bytes = reinterpret_cast<const unsigned char*>(record.data());
    for (size_t i = 0; i < part_count; ++i) parts[i].Encode(columns[i].Value(bytes), false, &key);
    return key;
  }
};

Columns RandomColumns(std::mt19937_64* random) {
  constexpr uint32_t kNumberLengths[] = {1, 2, 3, 4, 8};
  Columns table;
  const size_t count = 1 + (*random)() % 5;
  for (size_t i = 0; i < count; ++i) {
    const uint32_t length = kNumberLengths[(*random)() % 5];
    switch ((*random)() % 4) {
      case 0: table.Add(ColumnKind::kSigned, length); break;
      case 1: table.Add(ColumnKind::kUnsigned, length); break;
      case 2: table.Add(ColumnKind::kOrdered, 1 + (*random)() % 9); break;
      default: table.Add(ColumnKind::kFixedBinary, 1 + (*random)() % 20); break;
    }
  }
  return table;
}

std::string RandomRecord(uint32_t bytes, std::mt19937_64* random) {
  std::string record(bytes, '\0');
  for (char& byte : record) byte = static_cast<char>((*random)());
  return record;
}

unsigned char* AsRecord(std::string* bytes) {
  return reinterpret_cast<unsigned char*>(bytes->data());
}

TEST(PlainKeyTest, GivesWhatThePartsGive) {
  std::mt19937_64 random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    const Columns table = RandomColumns(&random);
    const PlainKey plain = table.Plain();
    ASSERT_TRUE(plain.is_whole());
    std::string record = RandomRecord(table.record_bytes, &random);
    const Key expected = table.KeyOf(record, table.parts.size());
    ASSERT_EQ(plain.bytes(), expected.size());

    Key key(plain.bytes());
    plain.Encode(AsRecord(&record), key.size(), key.data());
    ASSERT_EQ(key, expected);

    // An image of the key has the values one after the other, as this record does.
    const size_t searched = random() % (table.parts.size() + 1);
    Key prefix(plain.bytes());
    prefix.resize(plain.BytesOf((1ul << searched) - 1));
    plain.EncodeImage(AsRecord(&record) + 1, prefix.size(), prefix.data());
    ASSERT_EQ(prefix, table.KeyOf(record, searched));

    std::string restored(record.size(), '\0');
    restored[0] = record[0];
    plain.Decode(key, AsRecord(&restored));
    ASSERT_EQ(restored, record);
  }
}

TEST(PlainKeyTest, LeavesOtherColumnsAlone) {
  Columns table;
  table.Add(ColumnKind::kSigned, 4);
  table.Add(ColumnKind::kUnsigned, 8);
  std::mt19937_64 random(TestSeed());
  const std::string record = RandomRecord(table.record_bytes, &random);
  const Key key = table.KeyOf(record, 2);
  std::string target(record.size(), 'x');
  const PlainKey second({table.parts[1]}, 1, table.columns);
  second.Decode(Bytes(key).subspan(4), AsRecord(&target));
  EXPECT_EQ(target.substr(0, 5), "xxxxx");
  EXPECT_EQ(target.substr(5), record.substr(5));
}

TEST(PlainKeyTest, WritesTheDeclaredPartsAlone) {
  Columns table;
  table.Add(ColumnKind::kSigned, 4);
  table.Add(ColumnKind::kUnsigned, 8);
  const PlainKey plain(table.parts, 1, table.columns);
  EXPECT_EQ(plain.declared_bytes(), 4u);
  std::string record(table.record_bytes, '\x01');
  Key key(12, std::byte{0x55});
  plain.Encode(AsRecord(&record), plain.declared_bytes(), key.data());
  const Key declared = table.KeyOf(record, 1);
  EXPECT_TRUE(std::equal(declared.begin(), declared.end(), key.begin()));
  EXPECT_EQ(key[4], std::byte{0x55});
}

TEST(PlainKeyTest, RefusesWhatNeedsMoreThanAPlace) {
  Columns table;
  table.Add(ColumnKind::kSigned, 4);
  for (const auto& spoil : std::vector<void (*)(KeyPartCodec*)>{
           [](KeyPartCodec* part) { part->nullable = true; },
           [](KeyPartCodec* part) { part->descending = true; },
           [](KeyPartCodec* part) { part->encoding = KeyEncoding::kEscaped; }}) {
    std::vector<KeyPartCodec> parts = table.parts;
    spoil(&parts[0]);
    EXPECT_FALSE(PlainKey(parts, 1, table.columns).is_plain());
  }
  // A FLOAT has a fixed place, but its value cannot be restored.
  table.Add(ColumnKind::kFloat, 4);
  EXPECT_TRUE(table.Plain().is_plain());
  EXPECT_FALSE(table.Plain().is_whole());
}

TEST(PlainKeyTest, AHiddenRowIdOnlyTakesItsPlace) {
  Columns table;
  table.Add(ColumnKind::kUnsigned, 2);
  KeyPartCodec row_id;
  row_id.column = kNoColumn;
  row_id.length = kRowIdBytes;
  table.parts.push_back(row_id);
  const PlainKey plain(table.parts, 1, table.columns);
  EXPECT_TRUE(plain.is_whole());
  EXPECT_EQ(plain.bytes(), 2 + kRowIdBytes);
  EXPECT_EQ(plain.declared_bytes(), 2u);
}

}  // namespace
}  // namespace rowan
