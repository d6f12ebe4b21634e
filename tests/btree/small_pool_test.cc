// SPDX-License-Identifier: GPL-2.0-only
// A pool in which all pages but one are dirty and no thread cleans: a page that comes in may only
// take the frame of the page that led to it. Whoever needs both gets on all the same.
#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <vector>

#include "buffer/buffer_redo.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

class SmallPoolTest : public ::testing::Test {
 protected:
  static constexpr uint32_t kPoolPages = 64;

  SmallPoolTest() {
    TreeFixture::Entries entries;
    for (uint32_t i = 0; i < 2000; ++i) {
      entries.emplace_back(TreeFixture::Key(10 * i), std::string(900, 'v'));
    }
    world_.Build(entries);
    leaves_ = world_.Leaves();
    EXPECT_GT(leaves_.size(), 6 * kPoolPages);
    EXPECT_TRUE(world_.RestartCold().ok());
    MakeDirty(world_.tree().root());
    // The last leaves, none of which a test uses.
    for (size_t leaf = leaves_.size(); CleanFrames() > 1; --leaf) {
      MakeDirty(leaves_[leaf - 1].page);
    }
    world_.hooks().SetReadHook([this](const std::string&, Bytes) {
      // A test that would go on for ever fails instead.
      if (++reads_ == 500) world_.file_system().Inject({.call = FileCall::kRead, .lasting = true});
    });
  }
  ~SmallPoolTest() override { world_.hooks().SetReadHook({}); }
  static SpaceFixture::Options Options() {
    SpaceFixture::Options options;
    options.page_bytes = 4096;
    options.pool_pages = kPoolPages;
    options.background = false;
    return options;
  }
  uint64_t CleanFrames() {
    const PoolStatistics pool = world_.space().pool().Statistics();
    return pool.frames - pool.dirty_frames;
  }
  /// A change that changes nothing.
  void MakeDirty(PageNumber page) {
    MiniTxn mini_txn(&world_.space().pool());
    ASSERT_TRUE(mini_txn.Start(256).ok());
    Result<MutablePage> fixed = mini_txn.Fix({SpaceFixture::kSpace, page});
    ASSERT_TRUE(fixed.ok());
    LogPageBytes(&mini_txn, *fixed, node_layout::kReserved, std::vector<std::byte>(4));
    (void)mini_txn.Commit();
  }

  TreeFixture world_{Options()};
  std::vector<TreeFixture::Leaf> leaves_;
  std::atomic<uint64_t> reads_{0};
};

TEST_F(SmallPoolTest, ADescentReachesItsLeaf) {
  Descent descent(world_.tree());
  PageGuard leaf;
  const std::string& key = leaves_[7].keys[1];
  ASSERT_TRUE(descent.ToLeaf({Aim::kOwner, AsBytes(key)}, LatchMode::kShared, &leaf).ok());
  EXPECT_EQ(leaf.id().page, leaves_[7].page);
}

TEST_F(SmallPoolTest, ALeafIsSplit) {
  ASSERT_TRUE(world_.Put(leaves_[7].keys[1] + "x", std::string(900, 'w')).ok());
  world_.hooks().SetReadHook({});
  EXPECT_EQ(world_.Leaves().size(), leaves_.size() + 1);
}

TEST_F(SmallPoolTest, AWalkGoesFromLeafToLeafInBothDirections) {
  Cursor cursor(&world_.tree());
  ASSERT_TRUE(cursor.SeekAtLeast(AsBytes(leaves_[7].keys[0])).ok());
  size_t forward = 0;
  for (; cursor.leaf() != leaves_[20].page; ++forward) ASSERT_TRUE(cursor.Next().ok());
  size_t backward = 0;
  for (; cursor.leaf() != leaves_[6].page; ++backward) ASSERT_TRUE(cursor.Prev().ok());
  EXPECT_EQ(backward, forward + 1) << "to the last entry of the leaf before the first one";
  EXPECT_EQ(AsText(cursor.key()), leaves_[6].keys.back());
}

}  // namespace
}  // namespace rowan
