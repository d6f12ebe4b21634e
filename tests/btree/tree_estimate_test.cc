// SPDX-License-Identifier: GPL-2.0-only
// Estimates where they are exact, how little they read where they are not, and samples of leaves.
#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "btree/descent.h"
#include "btree/leaf_sample.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

/// Leaves of four entries, some of which are gone: each leaf has another number of them.
class EstimateTest : public ::testing::Test {
 protected:
  void Fill(uint32_t entries, uint64_t keep_of_four) {
    TreeFixture::Entries all;
    for (uint32_t i = 0; i < entries; ++i) {
      all.emplace_back(TreeFixture::Key(10 * i), std::string(900, 'v'));
    }
    world_.Build(all);
    for (const auto& [key, value] : all) {
      if (random_.Below(4) < keep_of_four) continue;
      ASSERT_TRUE(world_.Remove(key).ok());
    }
    leaves_ = world_.Leaves();
    for (const TreeFixture::Leaf& leaf : leaves_) keys_.insert(leaf.keys.begin(), leaf.keys.end());
  }
  [[nodiscard]] size_t LeafOf(const std::string& key) const {
    size_t leaf = 0;
    while (leaf + 1 < leaves_.size() && leaves_[leaf].high <= key) ++leaf;
    return leaf;
  }
  [[nodiscard]] uint64_t Between(const std::string& low, const std::string& high) const {
    const auto end = high.empty() ? keys_.end() : keys_.lower_bound(high);
    return static_cast<uint64_t>(std::distance(keys_.lower_bound(low), end));
  }
  uint64_t Estimate(const std::string& low, const std::string& high) {
    Result<uint64_t> entries = world_.tree().EstimateRange(AsBytes(low), AsBytes(high));
    EXPECT_TRUE(entries.ok()) << entries.status().message();
    return entries.ok() ? *entries : UINT64_MAX;
  }
  static SpaceFixture::Options Options() {
    SpaceFixture::Options options;
    options.page_bytes = 4096;
    options.pool_pages = 2048;
    options.background = false;
    return options;
  }

  TreeFixture world_{Options()};
  Random random_{TestSeed()};
  std::vector<TreeFixture::Leaf> leaves_;
  std::set<std::string> keys_;
};

TEST_F(EstimateTest, ARangeWithAtMostTenLeavesBetweenItsEndsIsExact) {
  ASSERT_NO_FATAL_FAILURE(Fill(2000, 2));
  size_t widest = 0;
  for (int round = 0; round < 1000; ++round) {
    const auto low = static_cast<uint32_t>(random_.Below(20'000));
    const std::string from = TreeFixture::Key(low);
    std::string to = TreeFixture::Key(low + static_cast<uint32_t>(random_.Below(500)));
    if (random_.OneIn(10)) to.clear();
    const size_t last = to.empty() ? leaves_.size() - 1 : LeafOf(to);
    if (last > LeafOf(from) + 11) continue;
    widest = std::max(widest, last - LeafOf(from));
    ASSERT_EQ(Estimate(from, to), Between(from, to)) << from << " to " << to;
  }
  EXPECT_EQ(widest, 11u);
  EXPECT_EQ(Estimate("", TreeFixture::Key(0)), 0u);
  EXPECT_EQ(Estimate("x", ""), 0u);
}

TEST_F(EstimateTest, BeginningWhereTheOneBeforeBeganFindsTheSameInATreeThatChanges) {
  ASSERT_NO_FATAL_FAILURE(Fill(2000, 3));
  Ancestors path;
  uint32_t low = 0;
  for (int round = 0; round < 3000; ++round) {
    // In order, as those of a list, with a jump now and then.
    low = random_.OneIn(10) ? static_cast<uint32_t>(random_.Below(20'000))
                            : low + static_cast<uint32_t>(random_.Below(200));
    const std::string from = TreeFixture::Key(low);
    const std::string to = TreeFixture::Key(low + static_cast<uint32_t>(random_.Below(300)));
    Result<uint64_t> near = world_.tree().EstimateRange(AsBytes(from), AsBytes(to), &path);
    ASSERT_TRUE(near.ok());
    ASSERT_EQ(*near, Estimate(from, to)) << from << " to " << to;
    const std::string changed = TreeFixture::Key(low + static_cast<uint32_t>(random_.Below(9)));
    if (keys_.erase(changed) != 0) {
      ASSERT_TRUE(world_.Remove(changed).ok());
    } else {
      keys_.insert(changed);
      ASSERT_TRUE(world_.Put(changed, std::string(900, 'v')).ok());
    }
  }
}

TEST_F(EstimateTest, AWiderRangeIsJudgedByAFewPages) {
  ASSERT_NO_FATAL_FAILURE(Fill(2000, 3));
  ASSERT_TRUE(world_.RestartCold().ok());
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  const uint64_t entries = Estimate("", "");
  // Both ends, ten leaves, six paths of at most two pages below the root.
  EXPECT_LE(ReadCounter(Counter::kPagesRead) - before, 5u + 10u + 12u);
  EXPECT_GT(leaves_.size(), 400u);
  EXPECT_GT(entries, keys_.size() / 2);
  EXPECT_LT(entries, keys_.size() * 2);
}

TEST_F(EstimateTest, StatisticsOfOneLeafAreExact) {
  ASSERT_NO_FATAL_FAILURE(Fill(3, 4));
  Result<TreeStatistics> statistics = world_.tree().Statistics();
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->levels, 1u);
  EXPECT_EQ(statistics->leaf_pages, 1u);
  EXPECT_EQ(statistics->inner_pages, 0u);
  EXPECT_EQ(statistics->entries, 3u);
}

TEST_F(EstimateTest, StatisticsCountTheLeavesOfOneParent) {
  ASSERT_NO_FATAL_FAILURE(Fill(400, 4));
  Result<TreeStatistics> statistics = world_.tree().Statistics();
  ASSERT_TRUE(statistics.ok());
  EXPECT_EQ(statistics->levels, 2u);
  EXPECT_EQ(statistics->leaf_pages, leaves_.size());
  EXPECT_EQ(statistics->inner_pages, 1u);
  size_t least = SIZE_MAX;
  size_t most = 0;
  for (const TreeFixture::Leaf& leaf : leaves_) {
    least = std::min(least, leaf.keys.size());
    most = std::max(most, leaf.keys.size());
  }
  EXPECT_GE(statistics->entries, least * leaves_.size());
  EXPECT_LE(statistics->entries, most * leaves_.size());
}

TEST_F(EstimateTest, ASampledLeafIsAnyLeafAndAnEmptyOneIsNone) {
  ASSERT_NO_FATAL_FAILURE(Fill(80, 4));
  std::set<std::string> first_keys;
  for (const TreeFixture::Leaf& leaf : leaves_) first_keys.insert(leaf.keys.front());
  // One in twenty is not drawn in a thousand times with a chance of 1e-20.
  std::set<std::string> sampled;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    KeyBuffer key;
    ASSERT_TRUE(world_.tree().SampleLeaf(seed, &key).ok());
    sampled.emplace(AsText(key));
  }
  EXPECT_EQ(sampled, first_keys);
  for (const std::string& key : leaves_[5].keys) ASSERT_TRUE(world_.Remove(key).ok());
  uint32_t restarts = 0;
  for (uint64_t seed = 0; seed < 1000; ++seed) {
    KeyBuffer key;
    const Status status = world_.tree().SampleLeaf(seed, &key);
    if (status.Is(Code::kRestart)) {
      ++restarts;
      continue;
    }
    ASSERT_TRUE(status.ok());
    EXPECT_NE(AsText(key), leaves_[5].keys.front());
  }
  EXPECT_GT(restarts, 0u);
}

TEST_F(EstimateTest, SampledLeavesAreInOrderAndEachOnce) {
  ASSERT_NO_FATAL_FAILURE(Fill(80, 4));
  std::vector<std::string> first_keys;
  for (const TreeFixture::Leaf& leaf : leaves_) first_keys.push_back(leaf.keys.front());
  for (const uint32_t count : {0u, 1u, 10u, 1000u}) {
    const std::vector<KeyBuffer> keys = SampleLeaves(&world_.tree(), count, &random_);
    EXPECT_LE(keys.size(), count);
    EXPECT_EQ(keys.empty(), count == 0);
    std::vector<std::string> texts;
    for (const KeyBuffer& key : keys) texts.emplace_back(AsText(key));
    EXPECT_TRUE(std::includes(first_keys.begin(), first_keys.end(), texts.begin(), texts.end()));
    EXPECT_EQ(std::adjacent_find(texts.begin(), texts.end()), texts.end());
    if (count == 1000) {
      EXPECT_EQ(texts, first_keys);
    }
  }
}

TEST_F(EstimateTest, SamplingTriesOtherLeavesAFewTimesAndStopsWhenTold) {
  ASSERT_NO_FATAL_FAILURE(Fill(80, 4));
  for (size_t leaf = 1; leaf < leaves_.size(); ++leaf) {
    for (const std::string& key : leaves_[leaf].keys) ASSERT_TRUE(world_.Remove(key).ok());
  }
  // Nineteen of twenty are empty. Four tries more for each of ten: fifty in all.
  uint32_t asked = 0;
  const auto count = [&asked] { return ++asked, false; };
  Random random(7);
  EXPECT_LE(SampleLeaves(&world_.tree(), 10, &random, count).size(), 1u);
  EXPECT_GT(asked, 20u);
  EXPECT_LE(asked, 50u);
  asked = 0;
  const auto stop_at_third = [&asked] { return ++asked == 3; };
  SampleLeaves(&world_.tree(), 10, &random, stop_at_third);
  EXPECT_EQ(asked, 3u);
}

}  // namespace
}  // namespace rowan
