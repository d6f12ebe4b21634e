// SPDX-License-Identifier: GPL-2.0-only
// The check of a tree with any one byte of a page changed: it is damage, or the tree still has all
// its entries in order.
#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/btree/key_shapes.h"
#include "tests/btree/tree_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

class TreeDamageTest : public testing::TestWithParam<size_t> {
 protected:
  TreeDamageTest()
      : world_({.pool_pages = 1024, .background = false}), random_(TestSeed() + GetParam()) {
    const KeyShape& shape = AllKeyShapes(TestPageSizeBytes())[GetParam()];
    for (int i = 0; i < 500; ++i) {
      EXPECT_TRUE(world_.Put(shape.Make(&random_), std::string(30, 'v')).ok());
    }
    EXPECT_TRUE(Check(&keys_).ok());
    EXPECT_TRUE(world_.tree().Check({}, [this](PageNumber page) { pages_.push_back(page); }).ok());
  }
  Status Check(std::vector<std::string>* keys) {
    keys->clear();
    return world_.tree().Check([keys](Bytes key, Bytes) {
      keys->emplace_back(AsText(key));
      return Status::Ok();
    });
  }
  void Change(PageNumber page, size_t at, std::byte by) {
    Result<PageGuard> guard =
        world_.space().pool().Fix({SpaceFixture::kSpace, page}, LatchMode::kExclusive);
    ASSERT_TRUE(guard.ok());
    const_cast<std::byte*>(guard->page())[at] ^= by;
  }

  TreeFixture world_;
  Random random_;
  std::vector<std::string> keys_;
  std::vector<PageNumber> pages_;
};

TEST_P(TreeDamageTest, OneByteChangedIsFoundOrLeavesAllEntriesInOrder) {
  const LogCapture quiet;
  size_t found = 0;
  for (int round = 0; round < 150; ++round) {
    const PageNumber page = pages_[random_.Below(pages_.size())];
    // Mostly where nodes say what they are and where their entries lie.
    const size_t at = random_.OneIn(3) ? random_.Below(TestPageSizeBytes())
                                       : kPageHeaderBytes + random_.Below(200);
    const auto by = static_cast<std::byte>(random_.Between(1, 255));
    ASSERT_NO_FATAL_FAILURE(Change(page, at, by));
    std::vector<std::string> keys;
    const Status status = Check(&keys);
    ASSERT_NO_FATAL_FAILURE(Change(page, at, by));
    if (!status.ok()) {
      ASSERT_TRUE(status.Is(Code::kCorrupt)) << status.message();
      ++found;
      continue;
    }
    ASSERT_EQ(keys.size(), keys_.size()) << "page " << page.value() << ", byte " << at;
    ASSERT_TRUE(std::is_sorted(keys.begin(), keys.end()));
  }
  EXPECT_GT(found, 30u);
  std::vector<std::string> keys;
  ASSERT_TRUE(Check(&keys).ok());
  EXPECT_EQ(keys, keys_);
}

TEST_P(TreeDamageTest, APageThatIsFreeOrAnothersIsFound) {
  const LogCapture log;
  std::vector<std::string> keys;
  for (int round = 0; round < 10; ++round) {
    const PageNumber page = pages_[random_.Below(pages_.size())];
    constexpr size_t kIndexOffset = 24;
    ASSERT_NO_FATAL_FAILURE(Change(page, kIndexOffset, std::byte{1}));
    EXPECT_TRUE(Check(&keys).Is(Code::kCorrupt));
    ASSERT_NO_FATAL_FAILURE(Change(page, kIndexOffset, std::byte{1}));
  }
  const PageNumber page = pages_[random_.Below(pages_.size())];
  MiniTxn mini_txn(&world_.space().pool());
  ASSERT_TRUE(mini_txn.Start(256).ok());
  ASSERT_TRUE(world_.space().allocator().Free(&mini_txn, {SpaceFixture::kSpace, page}).ok());
  mini_txn.Commit();
  EXPECT_TRUE(Check(&keys).Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("Page " + std::to_string(page.value()))) << log.Text();
}

INSTANTIATE_TEST_SUITE_P(Shapes, TreeDamageTest, testing::Range<size_t>(0, kKeyShapes));

}  // namespace
}  // namespace rowan
