// SPDX-License-Identifier: GPL-2.0-only
// Encoded parts sort as the server sorts the values, and give back what they can.
#include "plugin/codec/key_part_codec.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "tests/codec/server_strings.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

using Charsets = std::vector<const CHARSET_INFO*>;

using Key = std::vector<std::byte>;
using Value = std::optional<std::string>;  // nullopt: NULL

KeyPartCodec PartOf(const ColumnInfo& column, bool descending = false, uint32_t length = 0) {
  KeyPartCodec part;
  std::string refusal;
  EXPECT_TRUE(
      MakeKeyPart(column, length == 0 ? column.length : length, descending, &part, &refusal))
      << refusal;
  return part;
}

Key Encode(const KeyPartCodec& part, const Value& value) {
  Key key;
  part.Encode(value.has_value() ? AsBytes(*value) : Bytes(), !value.has_value(), &key);
  EXPECT_EQ(part.Size(key), key.size());
  return key;
}

template <typename Number>
std::string Stored(Number number) {
  std::string bytes(sizeof(number), '\0');
  std::memcpy(bytes.data(), &number, sizeof(number));
  return bytes;
}

ColumnInfo Fixed(ColumnKind kind, uint32_t length, bool nullable = false) {
  ColumnInfo column{.kind = kind, .offset = 1, .length = length};
  column.null_bit = nullable ? 1 : 0;
  return column;
}

/// These values come in this order, each before the next.
void ExpectOrder(const ColumnInfo& column, const std::vector<Value>& values) {
  for (const bool descending : {false, true}) {
    const KeyPartCodec part = PartOf(column, descending);
    for (size_t i = 1; i < values.size(); ++i) {
      const Key one = Encode(part, values[i - 1]);
      const Key other = Encode(part, values[i]);
      EXPECT_EQ(one < other, !descending) << "value " << i;
      EXPECT_EQ(part.IsNull(one), !values[i - 1].has_value());
    }
  }
}

/// Decoding gives the value back, into a record that says otherwise.
void ExpectReversible(const ColumnInfo& column, const std::vector<Value>& values) {
  for (const bool descending : {false, true}) {
    const KeyPartCodec part = PartOf(column, descending);
    ASSERT_TRUE(part.reversible);
    for (const Value& value : values) {
      std::vector<unsigned char> record(64, value.has_value() ? 0xFF : 0);
      ASSERT_TRUE(part.Decode(Encode(part, value), column, record.data()));
      EXPECT_EQ(column.IsNull(record.data()), !value.has_value());
      if (value.has_value()) {
        EXPECT_EQ(AsText(column.Value(record.data())), *value);
      }
    }
  }
}

TEST(KeyPartCodecTest, SignedNumbers) {
  std::vector<Value> values{std::nullopt};
  for (const int64_t number : {INT64_MIN, int64_t{-256}, int64_t{-1}, int64_t{0}, int64_t{1},
                               int64_t{255}, int64_t{256}, INT64_MAX}) {
    values.emplace_back(Stored(number));
  }
  ExpectOrder(Fixed(ColumnKind::kSigned, 8, true), values);
  ExpectReversible(Fixed(ColumnKind::kSigned, 8, true), values);
  const std::vector<Value> small{Stored(INT32_MIN), Stored(-1), Stored(0), Stored(INT32_MAX)};
  ExpectOrder(Fixed(ColumnKind::kSigned, 4), small);
  ExpectReversible(Fixed(ColumnKind::kSigned, 4), small);
}

TEST(KeyPartCodecTest, UnsignedNumbers) {
  const std::vector<Value> values{std::nullopt, Stored(0u), Stored(255u), Stored(256u),
                                  Stored(UINT32_MAX)};
  ExpectOrder(Fixed(ColumnKind::kUnsigned, 4, true), values);
  ExpectReversible(Fixed(ColumnKind::kUnsigned, 4, true), values);
}

TEST(KeyPartCodecTest, RealNumbers) {
  std::vector<Value> values{std::nullopt};
  for (const double number : {-HUGE_VAL, -1e300, -1.5, -std::numeric_limits<double>::denorm_min(),
                              0.0, 1e-300, 2.0, 1e300}) {
    values.emplace_back(Stored(number));
  }
  ExpectOrder(Fixed(ColumnKind::kDouble, 8, true), values);
  const KeyPartCodec part = PartOf(Fixed(ColumnKind::kDouble, 8));
  EXPECT_FALSE(part.reversible);
  EXPECT_EQ(Encode(part, Stored(-0.0)), Encode(part, Stored(0.0)));
}

TEST(KeyPartCodecTest, NumbersOfAnAutoIncrementCounter) {
  const auto number = [](const ColumnInfo& column, const Value& value, bool descending) {
    const KeyPartCodec part = PartOf(column, descending);
    uint64_t decoded = 99;
    EXPECT_TRUE(part.DecodeNumber(Encode(part, value), &decoded));
    return decoded;
  };
  for (const bool descending : {false, true}) {
    EXPECT_EQ(number(Fixed(ColumnKind::kUnsigned, 8), Stored(UINT64_MAX), descending), UINT64_MAX);
    EXPECT_EQ(number(Fixed(ColumnKind::kSigned, 4), Stored(7), descending), 7u);
    EXPECT_EQ(number(Fixed(ColumnKind::kSigned, 4), Stored(-7), descending), 0u);
    EXPECT_EQ(number(Fixed(ColumnKind::kSigned, 4, true), std::nullopt, descending), 0u);
    EXPECT_EQ(number(Fixed(ColumnKind::kFloat, 4), Stored(7.5f), descending), 7u);
    EXPECT_EQ(number(Fixed(ColumnKind::kDouble, 8), Stored(1e10), descending), 10'000'000'000u);
  }
}

ColumnInfo Text(const CHARSET_INFO* charset, uint32_t length = 400) {
  ColumnInfo column = Fixed(ColumnKind::kVarchar, length);
  column.length_bytes = 2;
  column.charset = charset;
  return column;
}

TEST(KeyPartCodecTest, ByteStrings) {
  using std::string_literals::operator""s;
  const std::vector<Value> values{""s,  "\0"s,  "\0\0"s, "\0\1"s, "\1"s,
                                  "a"s, "a\0"s, "ab"s,   "\xFF"s};
  ExpectOrder(Text(&my_charset_bin), values);
  ExpectReversible(Text(&my_charset_bin), values);
}

TEST(KeyPartCodecTest, OfAPrefixOnlyItsCharactersCount) {
  const KeyPartCodec part = PartOf(Text(&my_charset_utf8mb4_bin), false, 2 * 4);
  EXPECT_FALSE(part.whole_column);
  EXPECT_EQ(Encode(part, "\xC3\xA4\xC3\xB6\xC3\xBC"), Encode(part, "\xC3\xA4\xC3\xB6"));
  EXPECT_NE(Encode(part, "\xC3\xA4\xC3\xB6"), Encode(part, "\xC3\xA4"));
}

/// Letters, equal ones among them, spaces, and what sorts before a space.
std::string RandomText(std::mt19937_64* random) {
  static const std::string kPieces[] = {"a", "A", "b", "ss", " ", "  ", "\t", "\1", "z", "~"};
  std::string text;
  for (size_t i = (*random)() % 6; i > 0; --i) text += kPieces[(*random)() % std::size(kPieces)];
  return text;
}

TEST(KeyPartCodecTest, TextsSortAsTheirCollationsDo) {
  std::mt19937_64 random(TestSeed());
  const auto sign = [](int number) { return (number > 0) - (number < 0); };
  for (const CHARSET_INFO* charset : Charsets{&my_charset_latin1, &my_charset_utf8mb4_general_ci,
                                              &my_charset_utf8mb4_bin, Utf8mb4AiCi()}) {
    ASSERT_NE(charset, nullptr);
    const KeyPartCodec part = PartOf(Text(charset));
    EXPECT_FALSE(part.reversible);
    for (int i = 0; i < 3000; ++i) {
      const std::string one = RandomText(&random);
      const std::string other = RandomText(&random);
      const Key key = Encode(part, one);
      const Key other_key = Encode(part, other);
      const int expected = charset->coll->strnncollsp(
          charset, reinterpret_cast<const unsigned char*>(one.data()), one.size(),
          reinterpret_cast<const unsigned char*>(other.data()), other.size());
      ASSERT_EQ(key < other_key ? -1 : static_cast<int>(other_key < key), sign(expected))
          << charset->m_coll_name << ": '" << one << "' and '" << other << "'";
      // What follows in the key never decides before the part has ended.
      if (expected == 0) continue;
      ASSERT_FALSE(std::equal(
          key.begin(), key.begin() + static_cast<ptrdiff_t>(std::min(key.size(), other_key.size())),
          other_key.begin()))
          << charset->m_coll_name << ": '" << one << "' and '" << other << "'";
    }
  }
}

TEST(KeyPartCodecTest, APartEndsBeforeWhatFollows) {
  for (const CHARSET_INFO* charset : Charsets{&my_charset_bin, &my_charset_latin1, Utf8mb4AiCi()}) {
    for (const bool descending : {false, true}) {
      const KeyPartCodec part = PartOf(Text(charset), descending);
      for (const char* text : {"", "a", "a b", "  x "}) {
        Key key = Encode(part, text);
        const size_t size = key.size();
        key.insert(key.end(), 3, std::byte{0x20});
        EXPECT_EQ(part.Size(key), size) << charset->m_coll_name << ": " << text;
        EXPECT_EQ(part.Size(Bytes(key).first(size - 1)), 0u)
            << charset->m_coll_name << ": " << text;
      }
    }
  }
}

TEST(KeyPartCodecTest, MalformedPartsAreRefused) {
  const ColumnInfo column = Fixed(ColumnKind::kSigned, 4, true);
  const KeyPartCodec part = PartOf(column);
  std::vector<unsigned char> record(64);
  uint64_t number = 0;
  const Key key = Encode(part, Stored(1));
  EXPECT_EQ(part.Size({}), 0u);
  EXPECT_EQ(part.Size(Bytes(key).first(4)), 0u);
  EXPECT_FALSE(part.Decode({}, column, record.data()));
  EXPECT_FALSE(part.Decode(Bytes(key).first(4), column, record.data()));
  EXPECT_FALSE(part.DecodeNumber(Bytes(key).first(4), &number));
  EXPECT_FALSE(part.DecodeNumber({}, &number));
}

}  // namespace
}  // namespace rowan
