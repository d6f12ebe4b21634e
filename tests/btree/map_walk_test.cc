// SPDX-License-Identifier: GPL-2.0-only
// Walks over ranges of keys by what the map knows of their leaves, beside a map of the entries.
#include "btree/map_walk.h"

#include <gtest/gtest.h>

#include <map>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/btree/key_shapes.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

using Model = std::map<std::string, std::string>;

/// Stamped by TreeFixture's changes; what holds for a snapshot is below its low_txn.
constexpr TxnId kSees(6);
constexpr TxnId kDoesNotSee(5);

class MapWalkTest : public testing::TestWithParam<size_t> {
 protected:
  MapWalkTest() : world_({}), random_(TestSeed() + GetParam()) {
    for (int i = 0; i < 2500; ++i) {
      const std::string key = shape().Make(&random_);
      // Values of which the first bit would mark them as deleted.
      const std::string value = std::string(1, random_.OneIn(3) ? '\1' : '\2') + "value";
      EXPECT_TRUE(world_.Put(key, value).ok());
      model_[key] = value;
    }
  }
  [[nodiscard]] const KeyShape& shape() const {
    return AllKeyShapes(TestPageSizeBytes())[GetParam()];
  }
  /// The map knows about this share of the leaves and nothing of the others.
  void KnowOneIn(uint64_t leaves) {
    world_.tree().ForgetLeafMap();
    std::vector<PageNumber> pages;
    ASSERT_TRUE(world_.tree().Check({}, [&](PageNumber page) { pages.push_back(page); }).ok());
    for (const PageNumber page : pages) {
      const Result<PageGuard> guard =
          world_.space().pool().Fix({SpaceFixture::kSpace, page}, LatchMode::kShared);
      ASSERT_TRUE(guard.ok());
      const NodeView node({guard.value().page(), world_.space().page_size()});
      if (node.is_leaf() && random_.OneIn(leaves)) world_.tree().NoteLeaf(page, node);
    }
  }
  /// Entries of the model in [from, end) that carry no mark.
  [[nodiscard]] uint64_t Live(const std::string& from, const std::string& end) const {
    uint64_t live = 0;
    for (auto entry = model_.lower_bound(from);
         entry != model_.end() && (end.empty() || entry->first < end); ++entry) {
      live += entry->second[0] == '\2' ? 1 : 0;
    }
    return live;
  }
  /// All live entries of a range; `*stretches`: how often some had to be visited.
  uint64_t Count(TxnId low_txn, const std::string& from, const std::string& end, bool forward,
                 uint64_t* stretches) {
    MapWalk walk(&world_.tree(), low_txn);
    walk.Start(AsBytes(from), AsBytes(end));
    uint64_t total = 0;
    while (!walk.done()) {
      const uint64_t max = random_.OneIn(2) ? UINT64_MAX : random_.Below(300);
      const Status status = forward ? walk.Forward(max) : walk.Backward(max);
      EXPECT_TRUE(status.ok()) << status.message();
      if (!status.ok()) return total;
      EXPECT_LE(walk.entries(), max);
      total += walk.entries();
      if (!walk.has_stretch()) continue;
      const std::string first(AsText(walk.stretch_from()));
      const std::string last(AsText(walk.stretch_end()));
      EXPECT_GE(first, from);
      EXPECT_TRUE(end.empty() || (!last.empty() && last <= end));
      total += Live(first, last);
      ++*stretches;
      walk.Visited();
    }
    return total;
  }
  [[nodiscard]] std::string Bound() {
    return random_.OneIn(5) ? std::string() : shape().Make(&random_);
  }

  TreeFixture world_;
  Random random_;
  Model model_;
};

TEST_P(MapWalkTest, CountsEachRangeInBothDirectionsWhateverTheMapKnows) {
  for (const uint64_t leaves : {1, 2, 5, 1000000}) {
    SCOPED_TRACE(leaves);
    ASSERT_NO_FATAL_FAILURE(KnowOneIn(leaves));
    for (int round = 0; round < 25; ++round) {
      const std::string from = Bound();
      const std::string end = Bound();
      const uint64_t expected = end.empty() || from < end ? Live(from, end) : 0;
      for (const bool forward : {true, false}) {
        uint64_t stretches = 0;
        ASSERT_EQ(Count(kSees, from, end, forward, &stretches), expected)
            << (forward ? "forward" : "backward");
      }
    }
  }
}

TEST_P(MapWalkTest, VisitsNothingOfWhatTheMapKnowsAndAllOfWhatIsTooNew) {
  ASSERT_NO_FATAL_FAILURE(KnowOneIn(1));
  // A leaf alone has no word, and bounds that are too long are not stored: there it stops.
  const bool may_stop =
      world_.tree().leaf_map().Summarize(kSees).known == 0 || shape().kind == KeyShape::Kind::kHuge;
  MapWalk walk(&world_.tree(), kSees);
  walk.Start({}, {});
  ASSERT_TRUE(walk.Forward(UINT64_MAX).ok());
  EXPECT_TRUE(walk.done() || may_stop);
  EXPECT_EQ(walk.entries(),
            walk.done() ? Live("", "") : Live("", std::string(AsText(walk.stretch_from()))));
  MapWalk early(&world_.tree(), kDoesNotSee);
  early.Start({}, {});
  ASSERT_TRUE(early.Forward(UINT64_MAX).ok());
  EXPECT_EQ(early.entries(), 0u);
  EXPECT_TRUE(early.has_stretch());
}

INSTANTIATE_TEST_SUITE_P(Shapes, MapWalkTest, testing::Range<size_t>(0, kKeyShapes));

}  // namespace
}  // namespace rowan
