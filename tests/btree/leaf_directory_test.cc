// SPDX-License-Identifier: GPL-2.0-only
// Directories of the leaves of damaged trees, beside a map of the entries, and cursors that bypass
// the damage by them.
#include "btree/leaf_directory.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "base/random.h"
#include "btree/node_split.h"
#include "tests/btree/tree_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

using Model = std::map<std::string, std::string>;

class LeafDirectoryTest : public testing::Test {
 protected:
  LeafDirectoryTest() : world_({.doublewrite = DoublewriteMode::kOff}) {
    for (int i = 0; i < 3000; ++i) {
      const std::string key = "key" + std::to_string(random_.Below(100000));
      EXPECT_TRUE(world_.Put(key, std::string(40, 'v')).ok());
      model_[key] = std::string(40, 'v');
    }
  }
  Result<PageGuard> Fix(PageNumber page) {
    return world_.space().pool().Fix({SpaceFixture::kSpace, page}, LatchMode::kShared);
  }
  std::vector<PageNumber> Pages() {
    std::vector<PageNumber> pages;
    EXPECT_TRUE(world_.tree().Check({}, [&](PageNumber page) { pages.push_back(page); }).ok());
    return pages;
  }
  /// First keys of the leaves; the model loses what is on damaged ones.
  std::map<std::string, PageNumber> LeavesBut(const std::set<PageNumber>& damaged) {
    std::map<std::string, PageNumber> leaves;
    for (const PageNumber page : Pages()) {
      const Result<PageGuard> guard = Fix(page);
      EXPECT_TRUE(guard.ok());
      const NodeView node({guard.value().page(), world_.space().page_size()});
      KeyBuffer key;
      for (size_t slot = 0; node.is_leaf() && slot < node.count(); ++slot) {
        AssembleKey(node, slot, &key);
        if (damaged.contains(page)) {
          model_.erase(std::string(AsText(key)));
        } else if (slot == 0) {
          leaves[std::string(AsText(key))] = page;
        }
      }
    }
    return leaves;
  }
  /// The pages rot on disk, and the pool does not have them.
  void Damage(const std::set<PageNumber>& pages) {
    ASSERT_TRUE(world_.space().pool().FlushAndCheckpoint().ok());
    const std::string path = world_.space().files().PathOf(SpaceFixture::kSpace);
    world_.Kill();
    for (const PageNumber page : pages) {
      ASSERT_TRUE(world_.file_system().FlipBit(
          path, uint64_t{page.value()} * TestPageSizeBytes() + 600, 1));
    }
    ASSERT_TRUE(world_.Restart().ok());
  }
  std::shared_ptr<const LeafDirectory> Build() {
    Result<std::shared_ptr<const LeafDirectory>> built =
        LeafDirectory::Build(&world_.tree(), [] { return false; });
    EXPECT_TRUE(built.ok());
    return built.ok() ? std::move(built).value() : nullptr;
  }
  static std::string KeyOf(const LeafDirectory::Leaf* leaf) {
    return leaf == nullptr ? "none" : leaf->first_key;
  }

  TreeFixture world_;
  Random random_{TestSeed()};
  Model model_;
};

TEST_F(LeafDirectoryTest, FindsLeavesByTheirKeysAndNamesWhatCannotBeRead) {
  std::vector<PageNumber> pages = Pages();
  std::shuffle(pages.begin(), pages.end(), random_);
  const std::set<PageNumber> damaged(pages.begin(), pages.begin() + 3);
  const std::map<std::string, PageNumber> leaves = LeavesBut(damaged);
  ASSERT_NO_FATAL_FAILURE(Damage(damaged));
  const LogCapture quiet;
  const auto directory = Build();
  ASSERT_NE(directory, nullptr);
  EXPECT_EQ(directory->unreadable(), std::vector<PageNumber>(damaged.begin(), damaged.end()));
  ASSERT_FALSE(leaves.empty());
  EXPECT_EQ(KeyOf(directory->First()), leaves.begin()->first);
  EXPECT_EQ(KeyOf(directory->Last()), leaves.rbegin()->first);
  for (int i = 0; i < 500; ++i) {
    // Among the leaves' own first keys and others.
    const auto any =
        std::next(leaves.begin(), static_cast<ptrdiff_t>(random_.Below(leaves.size())));
    const std::string key =
        random_.OneIn(2) ? any->first : "key" + std::to_string(random_.Below(100000));
    const auto after = leaves.upper_bound(key);
    const auto at = leaves.lower_bound(key);
    EXPECT_EQ(KeyOf(directory->After(AsBytes(key))), after == leaves.end() ? "none" : after->first);
    EXPECT_EQ(KeyOf(directory->Before(AsBytes(key))),
              at == leaves.begin() ? "none" : std::prev(at)->first);
    const auto owner = after == leaves.begin() ? after : std::prev(after);
    ASSERT_NE(directory->OwnerOf(AsBytes(key)), nullptr);
    EXPECT_EQ(directory->OwnerOf(AsBytes(key))->page, owner->second);
  }
}

TEST_F(LeafDirectoryTest, ACursorWithADetourFindsAllThatCanBeRead) {
  std::vector<PageNumber> pages = Pages();
  std::shuffle(pages.begin(), pages.end(), random_);
  std::set<PageNumber> damaged(pages.begin(), pages.begin() + 4);
  damaged.insert(world_.tree().root());
  LeavesBut(damaged);
  ASSERT_NO_FATAL_FAILURE(Damage(damaged));
  const LogCapture quiet;
  EXPECT_FALSE(Cursor(&world_.tree()).SeekFirst().ok());
  const auto directory = Build();
  for (const bool forward : {true, false}) {
    Cursor cursor(&world_.tree());
    cursor.SetDetour(directory.get());
    std::vector<std::string> found;
    Status status = forward ? cursor.SeekFirst() : cursor.SeekLast();
    for (; status.ok(); status = forward ? cursor.Next() : cursor.Prev()) {
      found.emplace_back(AsText(cursor.key()));
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    if (!forward) std::reverse(found.begin(), found.end());
    ASSERT_EQ(found.size(), model_.size()) << (forward ? "forward" : "backward");
    auto expected = model_.begin();
    for (const std::string& key : found) EXPECT_EQ(key, (expected++)->first);
  }
}

TEST_F(LeafDirectoryTest, IsInterruptedAndEndsWithTheSpace) {
  int asked = 0;
  const auto interrupt = [&asked] { return ++asked > 0; };
  const Result<std::shared_ptr<const LeafDirectory>> built =
      LeafDirectory::Build(&world_.tree(), interrupt);
  EXPECT_EQ(built.status().Is(Code::kInterrupted), asked > 0) << "asked now and then";
  ASSERT_TRUE(world_.space().allocator().DropSpace(SpaceFixture::kSpace).ok());
  EXPECT_TRUE(
      LeafDirectory::Build(&world_.tree(), [] { return false; }).status().Is(Code::kNotFound));
}

}  // namespace
}  // namespace rowan
