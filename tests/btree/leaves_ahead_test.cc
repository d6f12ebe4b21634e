// SPDX-License-Identifier: GPL-2.0-only
// A walk has the leaves that follow read before it comes to them.
#include "btree/leaves_ahead.h"

#include <gtest/gtest.h>

#include <vector>

#include "base/counters.h"
#include "btree/cursor.h"
#include "tests/btree/tree_fixture.h"
#include "tests/support/await.h"

namespace rowan {
namespace {

class LeavesAheadTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kEntries = 20'000;

  void SetUp() override {
    // Neighbours do not lie side by side.
    for (uint32_t i = 0; i < kEntries; ++i) {
      const uint32_t number = static_cast<uint32_t>(uint64_t{i} * 7919 % kEntries);
      ASSERT_TRUE(tree_.Put(TreeFixture::Key(number), "0123456789abcdef0123456789abcdef").ok());
    }
    leaves_ = tree_.Leaves();
    ASSERT_GT(leaves_.size(), 200u);
    ASSERT_TRUE(tree_.RestartCold().ok());
  }
  BufferPool& pool() { return tree_.space().pool(); }
  PageId Id(size_t leaf) const { return {SpaceFixture::kSpace, leaves_[leaf].page}; }
  /// What was asked for before is in the pool: requests are served in their order.
  void AwaitWhatWasAskedFor() {
    const PageId last = Id(leaves_.size() - 1);
    pool().Prefetch({&last, 1});
    ASSERT_TRUE(Await([&] { return pool().IsResident(last); }));
  }
  /// Of its leaf, which is latched, and then no more.
  static void ToLastEntry(Cursor* cursor) {
    cursor->MoveTo(static_cast<uint16_t>(cursor->leaf_entries() - 1));
    cursor->Unlatch();
  }
  static void ToNextLeaf(Cursor* cursor) {
    ToLastEntry(cursor);
    ASSERT_TRUE(cursor->Next().ok());
  }

  TreeFixture tree_{{.page_bytes = 4096, .pool_pages = 1024}};
  std::vector<TreeFixture::Leaf> leaves_;
};

TEST_F(LeavesAheadTest, AWalkThatHasWaitedTwiceWaitsNoMore) {
  Cursor cursor(&tree_.tree());
  ASSERT_TRUE(cursor.SeekFirst().ok());
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  for (size_t leaf = 1; leaf < leaves_.size(); ++leaf) {
    ToLastEntry(&cursor);
    ASSERT_TRUE(leaf <= 2 || Await([&] { return pool().IsResident(Id(leaf)); })) << leaf;
    ASSERT_TRUE(cursor.Next().ok());
    ASSERT_EQ(cursor.leaf(), leaves_[leaf].page);
  }
  // Two leaves, and parents.
  EXPECT_LE(ReadCounter(Counter::kPagesRead) - before, 5u);
}

TEST_F(LeavesAheadTest, AWalkBackwardsWaitsNoMoreEither) {
  Cursor cursor(&tree_.tree());
  ASSERT_TRUE(cursor.SeekLast().ok());
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  for (size_t walked = 1; walked < leaves_.size(); ++walked) {
    const size_t leaf = leaves_.size() - 1 - walked;
    cursor.MoveTo(0);
    cursor.Unlatch();
    ASSERT_TRUE(walked <= 2 || Await([&] { return pool().IsResident(Id(leaf)); })) << leaf;
    ASSERT_TRUE(cursor.Prev().ok());
    ASSERT_EQ(cursor.leaf(), leaves_[leaf].page);
  }
  EXPECT_LE(ReadCounter(Counter::kPagesRead) - before, 5u);
  cursor.MoveTo(0);
  EXPECT_TRUE(cursor.Prev().Is(Code::kEndOfRange));
}

TEST_F(LeavesAheadTest, AWalkThatTurnsAsksInItsNewDirection) {
  Cursor cursor(&tree_.tree());
  const size_t middle = leaves_.size() / 2;
  ASSERT_TRUE(cursor.SeekAtLeast(AsBytes(leaves_[middle].keys[0])).ok());
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(ToNextLeaf(&cursor));
  for (size_t leaf = middle + 3; leaf > middle - 10; --leaf) {
    cursor.MoveTo(0);
    cursor.Unlatch();
    ASSERT_TRUE(leaf > middle - 2 || Await([&] { return pool().IsResident(Id(leaf - 1)); }))
        << leaf;
    ASSERT_TRUE(cursor.Prev().ok());
    ASSERT_EQ(cursor.leaf(), leaves_[leaf - 1].page);
  }
}

TEST_F(LeavesAheadTest, AWalkThatChangesItsLeavesGoesOnWithThem) {
  Cursor cursor(&tree_.tree());
  ASSERT_TRUE(cursor.SeekFirst().ok());
  for (size_t leaf = 1; leaf < 60; ++leaf) {
    cursor.MoveTo(static_cast<uint16_t>(cursor.leaf_entries() - 1));
    cursor.Unlatch();
    const std::string& last = leaves_[leaf - 1].keys.back();
    ASSERT_TRUE(tree_.Put(last, "fedcba9876543210fedcba9876543210").ok());
    ASSERT_TRUE(leaf <= 2 || Await([&] { return pool().IsResident(Id(leaf)); })) << leaf;
    ASSERT_TRUE(cursor.Next().ok());
    ASSERT_EQ(cursor.leaf(), leaves_[leaf].page);
  }
}

TEST_F(LeavesAheadTest, AWalkThatLooksAgainBetweenLeavesGoesOn) {
  Cursor cursor(&tree_.tree());
  ASSERT_TRUE(cursor.SeekFirst().ok());
  for (size_t leaf = 1; leaf < 60; ++leaf) {
    ToLastEntry(&cursor);
    ASSERT_TRUE(leaf <= 2 || Await([&] { return pool().IsResident(Id(leaf)); })) << leaf;
    ASSERT_TRUE(cursor.Next().ok());
    // As who locks the gap between the leaves.
    const std::string behind = leaves_[leaf - 1].keys.back() + '\0';
    ASSERT_TRUE(cursor.SeekAtLeast(AsBytes(behind)).ok());
    ASSERT_EQ(cursor.leaf(), leaves_[leaf].page);
  }
}

TEST_F(LeavesAheadTest, AShortWalkAsksForNothing) {
  Cursor cursor(&tree_.tree());
  ASSERT_TRUE(cursor.SeekFirst().ok());
  ASSERT_NO_FATAL_FAILURE(ToNextLeaf(&cursor));
  cursor.Unlatch();
  ASSERT_NO_FATAL_FAILURE(AwaitWhatWasAskedFor());
  EXPECT_FALSE(pool().IsResident(Id(2)));
}

TEST_F(LeavesAheadTest, AWalkEndsWithTheLastLeaf) {
  Cursor cursor(&tree_.tree());
  const std::string& key = leaves_[leaves_.size() - 4].keys[0];
  ASSERT_TRUE(cursor.SeekAtLeast(AsBytes(key)).ok());
  for (int i = 0; i < 3; ++i) ASSERT_NO_FATAL_FAILURE(ToNextLeaf(&cursor));
  cursor.MoveTo(static_cast<uint16_t>(cursor.leaf_entries() - 1));
  EXPECT_TRUE(cursor.Next().Is(Code::kEndOfRange));
}

}  // namespace
}  // namespace rowan
