// SPDX-License-Identifier: GPL-2.0-only
// Which neighbours MergeIfSmall puts together, to the byte, and what is left of the tree.
#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <vector>

#include "base/counters.h"
#include "tests/btree/tree_fixture.h"

namespace rowan::tree_merge_test {
namespace {

constexpr size_t kPageBytes = 4096;
/// Of a leaf that may be merged, and of what two leaves come to.
constexpr size_t kSmallBytes = kPageBytes / 5 * 3;
constexpr size_t kMergedBytesMax = kPageBytes / 5 * 4;

/// A tree of leaves with two large entries each: "10a" and "10y", "11a" and "11y", and so on.
class TreeMergeTest : public ::testing::Test {
 protected:
  void Build(int leaves) {
    world_ = std::make_unique<TreeFixture>(Options());
    TreeFixture::Entries entries;
    for (int leaf = 0; leaf < leaves; ++leaf) {
      for (const char* which : {"a", "y"}) {
        entries.emplace_back(Name(leaf) + which, std::string(1900, 'v'));
      }
    }
    world_->Build(entries);
    ASSERT_EQ(world_->Leaves().size(), static_cast<size_t>(leaves));
  }
  /// Gives a leaf other values instead: "10b", "10c" and so on.
  void Refill(int leaf, const std::vector<size_t>& value_bytes) {
    ASSERT_TRUE(world_->Remove(Name(leaf) + "a").ok());
    ASSERT_TRUE(world_->Remove(Name(leaf) + "y").ok());
    char name = 'b';
    for (const size_t bytes : value_bytes) {
      ASSERT_TRUE(world_->Put(Name(leaf) + name++, std::string(bytes, 'w')).ok());
    }
  }
  void Merge(int leaf) {
    const Status status = world_->tree().MergeIfSmall(AsBytes(Name(leaf) + "m"));
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(world_->tree().Check({}).ok());
  }
  std::vector<TreeFixture::Leaf> leaves() { return world_->Leaves(); }
  uint32_t UsedPages() {
    return world_->space().allocator().CheckSpace(SpaceFixture::kSpace).value();
  }

  std::unique_ptr<TreeFixture> world_;

 private:
  static SpaceFixture::Options Options() {
    SpaceFixture::Options options;
    options.page_bytes = kPageBytes;
    options.pool_pages = 256;
    options.background = false;
    return options;
  }
  static std::string Name(int leaf) { return std::to_string(10 + leaf); }
};

TEST_F(TreeMergeTest, TwoLeavesThatTogetherFillFourFifthsAreMergedAndNoMore) {
  size_t value_bytes = 700;
  size_t merged_bytes = 0;
  {
    ASSERT_NO_FATAL_FAILURE(Build(3));
    ASSERT_NO_FATAL_FAILURE(Refill(0, {1400}));
    ASSERT_NO_FATAL_FAILURE(Refill(1, {value_bytes}));
    ASSERT_NO_FATAL_FAILURE(Merge(0));
    ASSERT_EQ(leaves().size(), 2u);
    merged_bytes = leaves()[0].used_bytes;
  }
  value_bytes += kMergedBytesMax - merged_bytes;
  for (const size_t more : {size_t{0}, size_t{1}}) {
    ASSERT_NO_FATAL_FAILURE(Build(3));
    ASSERT_NO_FATAL_FAILURE(Refill(0, {1400}));
    ASSERT_NO_FATAL_FAILURE(Refill(1, {value_bytes + more}));
    const uint32_t pages = UsedPages();
    ASSERT_NO_FATAL_FAILURE(Merge(0));
    ASSERT_EQ(leaves().size(), 2 + more);
    EXPECT_EQ(UsedPages(), pages - 1 + more);
    if (more != 0) continue;
    EXPECT_EQ(leaves()[0].used_bytes, kMergedBytesMax);
    EXPECT_EQ(leaves()[0].keys, (std::vector<std::string>{"10b", "11b"}));
    EXPECT_EQ(leaves()[0].high, "12");
  }
}

TEST_F(TreeMergeTest, ALeafFullerThanThreeFifthsIsLeftAlone) {
  for (const size_t more : {size_t{0}, size_t{1}}) {
    ASSERT_NO_FATAL_FAILURE(Build(3));
    ASSERT_NO_FATAL_FAILURE(Refill(0, {1400, 100}));
    ASSERT_NO_FATAL_FAILURE(Refill(1, {100}));
    const size_t missing = kSmallBytes - leaves()[0].used_bytes;
    ASSERT_TRUE(world_->Put("10c", std::string(100 + missing + more, 'v')).ok());
    ASSERT_EQ(leaves()[0].used_bytes, kSmallBytes + more);
    ASSERT_NO_FATAL_FAILURE(Merge(0));
    EXPECT_EQ(leaves().size(), 2 + more);
  }
}

TEST_F(TreeMergeTest, TheLastLeafGoesIntoItsLeftNeighbour) {
  ASSERT_NO_FATAL_FAILURE(Build(3));
  ASSERT_NO_FATAL_FAILURE(Refill(1, {300}));
  ASSERT_NO_FATAL_FAILURE(Refill(2, {300, 300}));
  ASSERT_NO_FATAL_FAILURE(Merge(2));
  ASSERT_EQ(leaves().size(), 2u);
  EXPECT_EQ(leaves()[1].keys, (std::vector<std::string>{"11b", "12b", "12c"}));
  EXPECT_EQ(leaves()[1].high, "");
}

TEST_F(TreeMergeTest, AnEmptyLeafGoesThoughItsLeftNeighbourIsFull) {
  ASSERT_NO_FATAL_FAILURE(Build(3));
  ASSERT_NO_FATAL_FAILURE(Refill(1, {}));
  const uint32_t pages = UsedPages();
  const uint64_t merges = ReadCounter(Counter::kTreeMerges);
  ASSERT_NO_FATAL_FAILURE(Merge(1));
  EXPECT_EQ(ReadCounter(Counter::kTreeMerges), merges + 1);
  EXPECT_EQ(UsedPages(), pages - 1);
  ASSERT_EQ(leaves().size(), 2u);
  EXPECT_EQ(leaves()[0].keys, (std::vector<std::string>{"10a", "10y"}));
  // Its keys are the left one's now.
  EXPECT_EQ(leaves()[0].high, "12");
  ASSERT_TRUE(world_->Put("11m", "back").ok());
  EXPECT_EQ(leaves()[0].keys.back(), "11m");
}

TEST_F(TreeMergeTest, AnEmptyFirstLeafTakesARightNeighbourThatIsNearlyEmpty) {
  for (const size_t more : {size_t{0}, size_t{1}}) {
    ASSERT_NO_FATAL_FAILURE(Build(3));
    ASSERT_NO_FATAL_FAILURE(Refill(0, {}));
    ASSERT_TRUE(world_->Remove("11a").ok());
    const size_t used = leaves()[1].used_bytes;
    ASSERT_TRUE(world_->Put("11y", std::string(1900 + kPageBytes / 4 - used + more, 'v')).ok());
    ASSERT_EQ(leaves()[1].used_bytes, kPageBytes / 4 + more);
    ASSERT_NO_FATAL_FAILURE(Merge(0));
    ASSERT_EQ(leaves().size(), 2 + more);
    EXPECT_EQ(leaves()[more].keys, (std::vector<std::string>{"11y"}));
  }
}

TEST_F(TreeMergeTest, TheRootTakesOverItsOnlyChild) {
  ASSERT_NO_FATAL_FAILURE(Build(2));
  const PageNumber root = world_->tree().root();
  ASSERT_NO_FATAL_FAILURE(Refill(0, {300}));
  ASSERT_NO_FATAL_FAILURE(Refill(1, {300}));
  const uint32_t pages = UsedPages();
  ASSERT_NO_FATAL_FAILURE(Merge(1));
  EXPECT_EQ(UsedPages(), pages - 2);
  ASSERT_EQ(leaves().size(), 1u);
  EXPECT_EQ(leaves()[0].page, root);
  EXPECT_EQ(leaves()[0].keys, (std::vector<std::string>{"10b", "11b"}));
  // A tree of one leaf has nothing to merge, however small it is.
  ASSERT_NO_FATAL_FAILURE(Merge(1));
  EXPECT_EQ(UsedPages(), pages - 2);
}

TEST_F(TreeMergeTest, AMergedLeafIsAsNewAsTheNewerOfBoth) {
  ASSERT_NO_FATAL_FAILURE(Build(3));
  ASSERT_TRUE(world_->Remove("10a").ok());
  ASSERT_TRUE(world_->Put("10y", "short").ok());  // by transaction 5; the others are of 3
  ASSERT_TRUE(world_->Remove("11a").ok());
  Cursor cursor(&world_->tree());
  ASSERT_TRUE(cursor.SeekExactly(AsBytes("11y")).ok());
  ASSERT_EQ(cursor.leaf_newest_change(), TxnId(3));
  cursor.LetGo();
  ASSERT_NO_FATAL_FAILURE(Merge(0));
  ASSERT_EQ(leaves().size(), 2u);
  ASSERT_TRUE(cursor.SeekExactly(AsBytes("11y")).ok());
  EXPECT_EQ(cursor.leaf_newest_change(), TxnId(5));
}

}  // namespace
}  // namespace rowan::tree_merge_test
