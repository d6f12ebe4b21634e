// SPDX-License-Identifier: GPL-2.0-only
// The ordered ranges and the sets of hashes beside models that are slow and plain.
#include "mvcc/lock/key_range_tree.h"

#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "mvcc/lock/record_lock_set.h"
#include "tests/support/test_settings.h"

namespace rowan::key_range_tree_test {
namespace {

std::string KeyOf(uint64_t number) {
  return {static_cast<char>('a' + number / 26), static_cast<char>('a' + number % 26)};
}

TEST(KeyRangeTreeTest, FindsWhatAWalkOverAllRangesFinds) {
  Random random(TestSeed());
  KeyRangeTree tree;
  std::vector<std::unique_ptr<KeyRange>> ranges;
  for (int step = 0; step < 4000; ++step) {
    if (ranges.empty() || random.Below(5) < 3) {
      auto range = std::make_unique<KeyRange>();
      range->low = KeyOf(random.Below(600));
      range->high = range->low + KeyOf(random.Below(600));
      range->unbounded = random.Below(50) == 0;
      tree.Insert(range.get());
      ranges.push_back(std::move(range));
    } else if (random.Below(2) == 0) {
      std::swap(ranges[random.Below(ranges.size())], ranges.back());
      tree.Remove(ranges.back().get());
      ranges.pop_back();
    } else {
      KeyRange* range = ranges[random.Below(ranges.size())].get();
      range->high = std::max(range->high, KeyOf(random.Below(600)));
      KeyRangeTree::EndMoved(range);
    }
    ASSERT_TRUE(step % 50 != 0 || tree.Check());
    ASSERT_EQ(tree.size(), ranges.size());
    const std::string key = KeyOf(random.Below(600));
    std::set<const KeyRange*> expected;
    for (const auto& range : ranges) {
      const bool behind = range->unbounded || range->high > key;
      if (range->low <= key && behind) expected.insert(range.get());
    }
    std::set<const KeyRange*> found;
    tree.ForEachAt(AsBytes(key), [&](const KeyRange* range) { found.insert(range); });
    ASSERT_EQ(found, expected);
  }
}

TEST(KeyRangeTreeTest, TheKeyAtAnEdgeMayBeAGapOnly) {
  KeyRange range;
  range.low = "b";
  range.high = std::string("k\0", 2);
  for (const char* key : {"b", "c", "k"}) EXPECT_TRUE(range.LocksRecord(AsBytes(key)));
  EXPECT_FALSE(range.Contains(AsBytes("a")));
  EXPECT_FALSE(range.Contains(AsBytes("kk")));
  range.first_is_gap = true;
  range.last_is_gap = true;
  EXPECT_TRUE(range.Contains(AsBytes("k")));
  EXPECT_FALSE(range.LocksRecord(AsBytes("k")));
  EXPECT_FALSE(range.LocksRecord(AsBytes("b")));
  EXPECT_TRUE(range.LocksRecord(AsBytes("c")));
}

TEST(RecordLockSetTest, HoldsWhatWasAddedInAFewBytesEach) {
  Random random(TestSeed());
  RecordLockSet locks;
  std::set<uint64_t> model;
  for (int i = 0; i < 200'000; ++i) {
    const uint64_t hash = random.Next();
    locks.Add(hash);
    locks.Add(hash);
    model.insert(hash);
  }
  EXPECT_EQ(locks.size(), model.size());
  for (const uint64_t hash : model) ASSERT_TRUE(locks.Contains(hash));
  uint64_t mistaken = 0;
  for (int i = 0; i < 200'000; ++i) mistaken += locks.Contains(random.Next()) ? 1 : 0;
  EXPECT_LE(mistaken, 3u);
  EXPECT_LT(locks.memory_bytes(), 8 * locks.size());
}

}  // namespace
}  // namespace rowan::key_range_tree_test
