// SPDX-License-Identifier: GPL-2.0-only
// Ways down a tree of three levels: where each aim leads, what a descent tells of its path, how
// cursors begin at the inner pages of their last one, and what becomes of changes on the way.
#include "btree/descent.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <future>
#include <string>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "tests/btree/tree_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::descent_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr uint32_t kEntries = 2000;
constexpr size_t kValueBytes = 900;  // four to a leaf

class DescentTest : public ::testing::Test {
 protected:
  DescentTest() {
    TreeFixture::Entries entries;
    for (uint32_t i = 0; i < kEntries; ++i) {
      entries.emplace_back(TreeFixture::Key(10 * i), std::string(kValueBytes, 'v'));
    }
    world_.Build(entries);
    leaves_ = world_.Leaves();
    for (const TreeFixture::Leaf& leaf : leaves_) {
      Descent descent(world_.tree());
      std::vector<ChildChoice> path;
      descent.TrackPath(&path);
      EXPECT_EQ(Go(&descent, Aim::kOwner, leaf.keys[0]), leaf.page);
      paths_.push_back(path);
    }
  }
  static SpaceFixture::Options Options() {
    SpaceFixture::Options options;
    options.page_bytes = kPageBytes;
    options.pool_pages = 2048;
    options.background = false;
    return options;
  }

  PageNumber Go(Descent* descent, Aim aim, const std::string& key) {
    PageGuard leaf;
    const Status status = descent->ToLeaf({aim, AsBytes(key)}, LatchMode::kShared, &leaf);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? leaf.id().page : kNoPage;
  }
  PageNumber Go(Aim aim, const std::string& key) {
    Descent descent(world_.tree());
    return Go(&descent, aim, key);
  }
  PageNumber GoNearby(Descent* descent, Aim aim, const std::string& key) {
    PageGuard leaf;
    const Status status = descent->ToLeafNearby({aim, AsBytes(key)}, LatchMode::kShared, &leaf);
    EXPECT_TRUE(status.ok()) << status.message();
    return status.ok() ? leaf.id().page : kNoPage;
  }
  [[nodiscard]] bool HaveOneParent(size_t left, size_t right) const {
    return paths_[left][0].child == paths_[right][0].child;
  }
  /// The first leaf below the second of the lowest inner pages.
  size_t FirstOfSecondParent() {
    size_t leaf = 0;
    while (HaveOneParent(0, leaf)) ++leaf;
    return leaf;
  }
  /// Makes the leaf, and so its parent, another one than it was.
  void SplitLeaf(size_t leaf) {
    const uint64_t before = ReadCounter(Counter::kTreeSplits);
    ASSERT_TRUE(world_.Put(leaves_[leaf].keys[1] + "x", std::string(kValueBytes, 'w')).ok());
    ASSERT_EQ(ReadCounter(Counter::kTreeSplits), before + 1);
  }
  void Change(PageNumber page, size_t at, std::byte by) {
    Result<PageGuard> guard =
        world_.space().pool().Fix({SpaceFixture::kSpace, page}, LatchMode::kExclusive);
    ASSERT_TRUE(guard.ok());
    guard->mutable_page()[at] ^= by;
  }

  TreeFixture world_{Options()};
  std::vector<TreeFixture::Leaf> leaves_;
  std::vector<std::vector<ChildChoice>> paths_;  ///< to each leaf
};

TEST_F(DescentTest, EachAimLeadsToItsLeaf) {
  ASSERT_GT(leaves_.size(), 400u);
  for (size_t i = 0; i < leaves_.size(); ++i) {
    const TreeFixture::Leaf& leaf = leaves_[i];
    for (const std::string& key : leaf.keys) {
      ASSERT_EQ(Go(Aim::kOwner, key), leaf.page);
      ASSERT_EQ(Go(Aim::kOwner, key + "x"), leaf.page);
      ASSERT_EQ(Go(Aim::kBefore, key + "x"), leaf.page);
    }
    if (i + 1 == leaves_.size()) continue;
    // The bound itself belongs to the right one; what is below it to the left one.
    ASSERT_EQ(Go(Aim::kOwner, leaf.high), leaves_[i + 1].page);
    ASSERT_EQ(Go(Aim::kBefore, leaf.high), leaf.page);
  }
  EXPECT_EQ(Go(Aim::kFirst, "7"), leaves_.front().page);
  EXPECT_EQ(Go(Aim::kLast, "0"), leaves_.back().page);
  EXPECT_EQ(Go(Aim::kOwner, ""), leaves_.front().page);
  EXPECT_EQ(Go(Aim::kBefore, ""), leaves_.front().page);
  EXPECT_EQ(Go(Aim::kOwner, "x"), leaves_.back().page);
}

TEST_F(DescentTest, TellsLowerBoundAndPath) {
  for (size_t i = 0; i < leaves_.size(); ++i) {
    Descent descent(world_.tree());
    std::vector<std::byte> lower;
    descent.TrackLowerBound(&lower);
    ASSERT_EQ(Go(&descent, Aim::kOwner, leaves_[i].keys.back()), leaves_[i].page);
    ASSERT_EQ(descent.has_lower(), i != 0);
    if (i != 0) {
      ASSERT_EQ(AsText(lower), leaves_[i - 1].high);
    }
    ASSERT_EQ(descent.root_level(), 2);
    const std::vector<ChildChoice>& path = paths_[i];
    ASSERT_EQ(path.size(), 2u);
    ASSERT_EQ(path[0].level, 2);
    ASSERT_EQ(path[1].level, 1);
    ASSERT_EQ(path[1].child, leaves_[i].page);
    if (i == 0) continue;
    // From leaf to leaf the path moves on by one child.
    const std::vector<ChildChoice>& before = paths_[i - 1];
    if (HaveOneParent(i - 1, i)) {
      ASSERT_EQ(path[1].index, before[1].index + 1);
    } else {
      ASSERT_EQ(before[1].index + 1, before[1].children);
      ASSERT_EQ(path[1].index, 0);
      ASSERT_EQ(path[0].index, before[0].index + 1);
    }
  }
}

TEST_F(DescentTest, FindsANodeOfEachLevelWithItsParent) {
  for (size_t i = 0; i < leaves_.size(); i += 7) {
    for (const uint8_t level : {uint8_t{0}, uint8_t{1}}) {
      Descent descent(world_.tree());
      OptimisticPage parent;
      OptimisticPage node;
      ChildChoice choice;
      const Bytes key = AsBytes(leaves_[i].keys[0]);
      ASSERT_TRUE(descent.ToLevel(key, level, &parent, &node, &choice).ok());
      EXPECT_TRUE(parent.Validate() && node.Validate());
      EXPECT_EQ(choice.child, paths_[i][1u - level].child);
      EXPECT_EQ(choice.index, paths_[i][1u - level].index);
      EXPECT_EQ(choice.level, level + 1);
      EXPECT_EQ(NodeView({node.page, kPageBytes}).level(), level);
      EXPECT_EQ(NodeView({parent.page, kPageBytes}).Child(choice.index), choice.child);
    }
  }
  Descent descent(world_.tree());
  OptimisticPage parent;
  OptimisticPage node;
  ChildChoice choice;
  for (const uint8_t level : {uint8_t{2}, uint8_t{3}}) {
    EXPECT_TRUE(descent.ToLevel({}, level, &parent, &node, &choice).Is(Code::kNotFound));
    EXPECT_EQ(descent.root_level(), 2);
  }
}

TEST_F(DescentTest, LatchesTheParentOfALeafAndKnowsItsLowerBound) {
  for (size_t i = 0; i < leaves_.size(); i += 3) {
    Descent descent(world_.tree());
    std::vector<std::byte> lower;
    descent.TrackLowerBound(&lower);
    PageGuard parent;
    ChildChoice choice;
    const Bytes key = AsBytes(leaves_[i].keys[0]);
    ASSERT_TRUE(descent.ToLeafParent({Aim::kOwner, key}, &parent, &choice).ok());
    ASSERT_EQ(parent.mode(), LatchMode::kShared);
    ASSERT_EQ(NodeView({parent.page(), kPageBytes}).Child(choice.index), leaves_[i].page);
    const size_t first = i - choice.index;  // of the parent's children
    ASSERT_EQ(descent.has_lower(), first != 0);
    if (first != 0) {
      ASSERT_EQ(AsText(lower), leaves_[first - 1].high);
    }
  }
}

TEST(DescentOfOneLeafTest, TheRootIsTheLeafAndHasNoParent) {
  TreeFixture world({});
  Descent descent(world.tree());
  std::vector<std::byte> lower;
  descent.TrackLowerBound(&lower);
  PageGuard leaf;
  ASSERT_TRUE(descent.ToLeaf({Aim::kOwner, AsBytes("k")}, LatchMode::kExclusive, &leaf).ok());
  EXPECT_EQ(leaf.id().page, world.tree().root());
  EXPECT_EQ(leaf.mode(), LatchMode::kExclusive);
  EXPECT_FALSE(descent.has_lower());
  EXPECT_EQ(descent.root_level(), 0);
  leaf.Release();
  PageGuard parent;
  ChildChoice choice;
  EXPECT_TRUE(descent.ToLeafParent({Aim::kOwner, {}}, &parent, &choice).Is(Code::kNotFound));
  OptimisticPage above;
  OptimisticPage node;
  EXPECT_TRUE(descent.ToLevel({}, 0, &above, &node, &choice).Is(Code::kNotFound));
}

TEST_F(DescentTest, BeginsAtTheLowestRememberedPageThatCoversTheKey) {
  Ancestors ancestors;
  Descent descent(world_.tree());
  descent.Remember(&ancestors);
  size_t at = 0;
  ASSERT_EQ(Go(&descent, Aim::kOwner, leaves_[at].keys[0]), leaves_[at].page);
  Random random(TestSeed());
  for (int round = 0; round < 2000; ++round) {
    const size_t far = random.Below(leaves_.size());
    const size_t near = std::min(leaves_.size() - 1, at + random.Below(3));
    const size_t next = random.OneIn(3) ? far : near;
    ASSERT_EQ(GoNearby(&descent, Aim::kOwner, leaves_[next].keys[1]), leaves_[next].page);
    auto way = Descent::Way::kClimbed;
    // Whether the first child of a page owns the key its own page cannot tell.
    if (!HaveOneParent(at, next) || paths_[next][1].index == 0) way = Descent::Way::kDescended;
    if (way == Descent::Way::kClimbed && next == at + 1) way = Descent::Way::kToNeighbour;
    ASSERT_EQ(descent.way(), way) << "from leaf " << at << " to " << next;
    at = next;
  }
}

TEST_F(DescentTest, ARememberedPageThatHasChangedIsPassedOver) {
  Ancestors ancestors;
  Descent descent(world_.tree());
  descent.Remember(&ancestors);
  ASSERT_EQ(Go(&descent, Aim::kOwner, leaves_[10].keys[0]), leaves_[10].page);
  ASSERT_NO_FATAL_FAILURE(SplitLeaf(20));
  EXPECT_EQ(GoNearby(&descent, Aim::kOwner, leaves_[11].keys[0]), leaves_[11].page);
  EXPECT_EQ(descent.way(), Descent::Way::kDescended);
  // That descent remembered the page as it is now.
  EXPECT_EQ(GoNearby(&descent, Aim::kOwner, leaves_[12].keys[0]), leaves_[12].page);
  EXPECT_EQ(descent.way(), Descent::Way::kToNeighbour);
  // What moved is found where it is.
  const std::vector<TreeFixture::Leaf> now = world_.Leaves();
  ASSERT_EQ(now.size(), leaves_.size() + 1);
  EXPECT_EQ(GoNearby(&descent, Aim::kOwner, leaves_[20].keys.back()), now[21].page);
}

TEST_F(DescentTest, AncestorsKnowTheLowerBoundOfTheLeafOfTheirPath) {
  for (const size_t i : {size_t{0}, size_t{1}, FirstOfSecondParent(), leaves_.size() - 1}) {
    Ancestors ancestors;
    Descent descent(world_.tree());
    descent.Remember(&ancestors);
    const std::string& key = leaves_[i].keys[2];
    ASSERT_EQ(Go(&descent, Aim::kOwner, key), leaves_[i].page);
    std::vector<std::byte> lower;
    const Descent::LowerBound known = descent.LowerBoundOf(leaves_[i].page, AsBytes(key), &lower);
    if (i == 0) {
      EXPECT_EQ(known, Descent::LowerBound::kNone);
      continue;
    }
    EXPECT_EQ(known, Descent::LowerBound::kKnown);
    EXPECT_EQ(AsText(lower), leaves_[i - 1].high);
    // Of another leaf, and when the parent is another one by now, they know nothing.
    EXPECT_EQ(descent.LowerBoundOf(leaves_[i - 1].page, AsBytes(key), &lower),
              Descent::LowerBound::kUnknown);
    if (i != 1) continue;
    ASSERT_NO_FATAL_FAILURE(SplitLeaf(5));
    EXPECT_EQ(descent.LowerBoundOf(leaves_[i].page, AsBytes(key), &lower),
              Descent::LowerBound::kUnknown);
  }
}

TEST_F(DescentTest, BeginsAgainWhenThePageAboveChangesWhileALeafIsRead) {
  ASSERT_TRUE(world_.RestartCold().ok());
  // Into the pool with the pages above, and with a leaf beside the one that is looked for.
  ASSERT_EQ(Go(Aim::kOwner, leaves_[20].keys[0]), leaves_[20].page);
  const uint64_t before = ReadCounter(Counter::kTreeRestarts);
  std::atomic<bool> first{true};
  std::future<Status> split;
  world_.hooks().SetReadHook([&](const std::string&, Bytes) {
    if (!first.exchange(false)) return;
    const std::string key = leaves_[20].keys[1] + "x";
    split = std::async(std::launch::async,
                       [&, key] { return world_.Put(key, std::string(kValueBytes, 'w')); });
    split.wait();
  });
  EXPECT_EQ(Go(Aim::kOwner, leaves_[10].keys[0]), leaves_[10].page);
  world_.hooks().SetReadHook({});
  ASSERT_FALSE(first) << "the leaf was in the pool";
  EXPECT_TRUE(split.get().ok());
  EXPECT_EQ(ReadCounter(Counter::kTreeRestarts), before + 1);
}

TEST_F(DescentTest, APageThatIsNotWhatItsParentSaysIsReportedByNumber) {
  const PageNumber inner = paths_[0][0].child;
  const PageNumber root = world_.tree().root();
  struct Case {
    PageNumber page;
    size_t at;
    std::byte by;
    const char* sentence;
  };
  const size_t first_child = node_layout::kFirstChild;
  const auto to_root = static_cast<std::byte>(inner.value() ^ root.value());
  const std::vector<Case> cases = {
      {leaves_[0].page, 24, std::byte{1}, "it is not a leaf of its index"},
      {leaves_[0].page, node_layout::kLevel, std::byte{1}, "it is not a leaf of its index"},
      {inner, 24, std::byte{1}, "it is not a node of its index"},
      {inner, node_layout::kLevel, std::byte{3}, "it is on another level than its parent says"},
      {root, node_layout::kLevel, std::byte{0x40}, "it has an impossible level"},
      {root, first_child, to_root, "it has an impossible child"}};
  for (const Case& one : cases) {
    SCOPED_TRACE(one.sentence);
    const LogCapture log;
    ASSERT_NO_FATAL_FAILURE(Change(one.page, one.at, one.by));
    PageGuard leaf;
    Descent descent(world_.tree());
    const Status status = descent.ToLeaf({Aim::kFirst, {}}, LatchMode::kShared, &leaf);
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.message();
    EXPECT_FALSE(leaf.held());
    EXPECT_TRUE(log.Has("Page " + std::to_string(one.page.value()) + " of ")) << log.Text();
    EXPECT_TRUE(log.Has(one.sentence)) << log.Text();
    ASSERT_NO_FATAL_FAILURE(Change(one.page, one.at, one.by));
  }
  EXPECT_EQ(Go(Aim::kFirst, ""), leaves_[0].page);
}

}  // namespace
}  // namespace rowan::descent_test
