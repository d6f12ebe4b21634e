// SPDX-License-Identifier: GPL-2.0-only
// Ranges that were read, against a model that knows each key.
#include "mvcc/lock/read_ranges.h"

#include <gtest/gtest.h>

#include <bitset>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan::read_ranges_test {
namespace {

constexpr IndexId kIndex{7};
constexpr size_t kKeys = 200;
using Keys = std::bitset<kKeys>;

std::string KeyOf(size_t number) { return {'k', static_cast<char>(number)}; }

class ReadRangesTest : public ::testing::Test {
 protected:
  void Add(SerialTxn* txn, size_t low, size_t high) {
    const std::string from = KeyOf(low);
    const std::string end = KeyOf(high);
    reads_.Add(txn, kIndex, {.low = AsBytes(from), .high = AsBytes(end)});
  }
  [[nodiscard]] Keys ReadBy(const SerialTxn* txn) const {
    Keys keys;
    for (size_t key = 0; key < kKeys; ++key) {
      const std::string text = KeyOf(key);
      reads_.ForEachReader(kIndex, AsBytes(text), [&](const SerialTxn* reader) {
        if (reader == txn) keys.set(key);
      });
    }
    return keys;
  }
  static Keys Between(size_t low, size_t high) {
    Keys keys;
    for (size_t key = low; key < high; ++key) keys.set(key);
    return keys;
  }
  ReadRanges reads_;
};

TEST_F(ReadRangesTest, RangesThatMeetBecomeOne) {
  Random random(TestSeed());
  for (int round = 0; round < 40; ++round) {
    SerialTxn one;
    SerialTxn two;
    Keys expected;
    for (int i = 0; i < 40; ++i) {
      const size_t low = random.Below(kKeys);
      const size_t high = low + 1 + random.Below(std::min<size_t>(8, kKeys - low));
      Add(&one, low, high);
      expected |= Between(low, high);
      ASSERT_EQ(ReadBy(&one), expected);
      ASSERT_TRUE(reads_.Check());
    }
    Add(&two, 0, 3);
    reads_.MoveTo(&two, &one);
    EXPECT_EQ(ReadBy(&two), expected | Between(0, 3));
    EXPECT_TRUE(ReadBy(&one).none());
    // None is lost when neighbours merge.
    while (reads_.MergeNearest(&two)) EXPECT_EQ(ReadBy(&two) & expected, expected);
    reads_.Release(&two);
    ASSERT_EQ(reads_.memory_bytes(), 0u);
  }
}

TEST_F(ReadRangesTest, TheNearestMergeFirst) {
  SerialTxn txn;
  for (const size_t cluster : {10u, 80u, 170u}) {
    for (size_t key = cluster; key < cluster + 16; key += 2) Add(&txn, key, key + 1);
  }
  const uint64_t before = reads_.memory_bytes();
  // 24 ranges, 23 gaps, of which two are wide.
  for (int round = 0; round < 3; ++round) ASSERT_TRUE(reads_.MergeNearest(&txn));
  EXPECT_EQ(reads_.memory_bytes(), before / 24 * 3);
  EXPECT_EQ(ReadBy(&txn), Between(10, 25) | Between(80, 95) | Between(170, 185));
  while (reads_.MergeNearest(&txn)) {
  }
  EXPECT_EQ(ReadBy(&txn), Between(10, 185));
  reads_.Release(&txn);
}

TEST_F(ReadRangesTest, AScanKeepsWhatItHasCome) {
  SerialTxn txn;
  const std::string low = KeyOf(10);
  const std::string high = KeyOf(30);
  const std::string end = KeyOf(20);
  const OpenRead read =
      reads_.Open(&txn, kIndex, {.low = AsBytes(low), .high = {}, .unbounded = true});
  EXPECT_EQ(ReadBy(&txn), Between(10, kKeys));
  reads_.Resize(read, {.low = AsBytes(low), .high = AsBytes(high)});
  EXPECT_EQ(ReadBy(&txn), Between(10, 30));
  Add(&txn, 40, 41);
  reads_.MergeNearest(&txn);
  reads_.Close(read, {.low = AsBytes(low), .high = AsBytes(end)});
  EXPECT_EQ(ReadBy(&txn), Between(10, 20) | Between(40, 41));
  reads_.Open(&txn, kIndex, {.low = AsBytes(low), .high = AsBytes(high)});
  reads_.Release(&txn);
  EXPECT_EQ(reads_.memory_bytes(), 0u);
  EXPECT_TRUE(reads_.Check());
}

}  // namespace
}  // namespace rowan::read_ranges_test
