// SPDX-License-Identifier: GPL-2.0-only
#include "space/value_changes.h"

#include <gtest/gtest.h>

#include <string>

#include "base/random.h"
#include "space/off_page_value.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

Bytes BytesOf(const std::string& text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
MutableBytes ToChange(std::string* text) {
  return {reinterpret_cast<std::byte*>(text->data()), text->size()};
}

ByteRanges Differences(const std::string& before, const std::string& after) {
  ByteRanges ranges;
  EXPECT_TRUE(FindDifferences(BytesOf(before), BytesOf(after), UINT64_MAX, &ranges));
  return ranges;
}

TEST(ValueChangesTest, EqualValuesHaveNoDifferences) {
  EXPECT_TRUE(Differences("", "").empty());
  EXPECT_TRUE(Differences(std::string(2000, 'x'), std::string(2000, 'x')).empty());
}

TEST(ValueChangesTest, DifferencesThatAreCloseAreOne) {
  EXPECT_EQ(Differences("abcdefghij", "Abcdefghij"), (ByteRanges{{0, 1}}));
  EXPECT_EQ(Differences("abcdefghij", "AbcdEfghij"), (ByteRanges{{0, 5}}));
  EXPECT_EQ(Differences("abcdefghij", "AbcdeFghiJ"), (ByteRanges{{0, 1}, {5, 10}}));
  // Also where memory is compared in steps.
  std::string after(2000, 'x');
  after[510] = after[513] = after[1999] = 'y';
  EXPECT_EQ(Differences(std::string(2000, 'x'), after), (ByteRanges{{510, 514}, {1999, 2000}}));
}

TEST(ValueChangesTest, TooManyDifferencesAreNotCollected) {
  ByteRanges ranges;
  const std::string before(100000, 'x');
  EXPECT_FALSE(FindDifferences(BytesOf(before), BytesOf(std::string(100000, 'y')), 2000, &ranges));
  EXPECT_LE(ranges.size(), 1u);
}

TEST(ValueChangesTest, ManySmallDifferencesCountWithWhatTheyTakeInMemory) {
  const std::string before(1000000, 'x');
  std::string after = before;
  for (size_t i = 0; i < after.size(); i += 5) after[i] = 'y';
  ByteRanges ranges;
  EXPECT_FALSE(FindDifferences(BytesOf(before), BytesOf(after), before.size(), &ranges));
  EXPECT_LT(ranges.size() * sizeof(ByteRange), before.size() + 4096);
  ranges.clear();
  EXPECT_TRUE(FindDifferences(BytesOf(before), BytesOf(after), 4 * before.size(), &ranges));
  EXPECT_EQ(ranges.size(), before.size() / 5);
}

TEST(ValueChangesTest, AListThatDoesNotFitIsNoticed) {
  std::string value(10, 'x');
  const auto applies = [&value](const std::string& list) {
    ByteRanges ranges;
    const bool parsed = AppendRangesOf(BytesOf(list), value.size(), &ranges);
    EXPECT_EQ(ApplyChanges(BytesOf(list), ToChange(&value)), parsed);
    return parsed;
  };
  EXPECT_TRUE(applies(""));
  EXPECT_TRUE(applies(std::string("\x09\x01z", 3)));
  EXPECT_FALSE(applies(std::string("\x0a\x01z", 3)));      // begins at the end
  EXPECT_FALSE(applies(std::string("\x09\x02zz", 4)));     // goes on behind it
  EXPECT_FALSE(applies(std::string("\x01\x02z", 3)));      // lacks a byte
  EXPECT_FALSE(applies(std::string("\x01\x00", 2)));       // changes nothing
  EXPECT_FALSE(applies(std::string("\x01", 1)));           // lacks the size
  EXPECT_FALSE(applies(std::string("\x01\x01z\x80", 4)));  // a number is cut off
}

TEST(ValueChangesTest, AnyRowOfChangesBecomesOneList) {
  Random random(TestSeed());
  for (int turn = 0; turn < 300; ++turn) {
    std::string base(1 + random.Below(3000), '\0');
    for (char& byte : base) byte = static_cast<char>(random.Below(3));
    std::string value = base;
    ByteRanges all;
    for (uint64_t step = random.Below(6); step > 0; --step) {
      const std::string before = value;
      for (uint64_t count = random.Below(5); count > 0; --count) {
        const size_t at = random.Below(value.size());
        const size_t size = std::min<size_t>(value.size() - at, random.Below(30));
        for (size_t i = at; i < at + size; ++i) value[i] = static_cast<char>(random.Below(3));
      }
      const ByteRanges now = Differences(before, value);
      all.insert(all.end(), now.begin(), now.end());
    }
    JoinRanges(&all);
    std::vector<std::byte> list;
    AppendChanges(all, BytesOf(value), &list);
    EXPECT_EQ(list.size(), ChangesBytes(all));
    ByteRanges parsed;
    ASSERT_TRUE(AppendRangesOf(list, base.size(), &parsed));
    EXPECT_EQ(parsed, all);
    ASSERT_TRUE(ApplyChanges(list, ToChange(&base)));
    ASSERT_EQ(base, value) << "turn " << turn;
  }
}

TEST(OffPageValueTest, AReferenceIsReadAsItWasWritten) {
  const BlobRef base{SpaceId(20), PageNumber(7), 100000, 5};
  const BlobRef patch{SpaceId(20), PageNumber(9), 300, 6};
  const std::vector<std::byte> recent{std::byte{1}, std::byte{1}, std::byte{'x'}};
  const OffPageValue values[] = {
      {base, {}, {}}, {base, patch, {}}, {base, {}, recent}, {base, patch, recent}};
  for (const OffPageValue& value : values) {
    std::vector<std::byte> reference;
    AppendReference(value, &reference);
    EXPECT_EQ(reference.size(), ReferenceBytes(value));
    EXPECT_TRUE(CanBeReference(reference.size()));
    const OffPageValue loaded = LoadReference(reference);
    EXPECT_TRUE(SameValue(loaded, value));
    EXPECT_EQ(loaded.size_bytes(), value.size_bytes());
    EXPECT_EQ(loaded.has_patch(), value.has_patch());
    EXPECT_EQ(loaded.patch.size_bytes, value.patch.size_bytes);
  }
}

}  // namespace
}  // namespace rowan
