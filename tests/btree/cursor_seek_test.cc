// SPDX-License-Identifier: GPL-2.0-only
// Seeks of one cursor to places near and far, in both directions: they find what a map finds, alone
// and while others split, merge and free the pages that the cursor remembers; and seeks from group
// to group do not begin at the root.
#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <map>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/random.h"
#include "btree/node_search.h"
#include "btree/node_split.h"
#include "tests/btree/tree_fixture.h"

namespace rowan::cursor_seek_test {
namespace {

std::string KeyOf(uint32_t group, uint32_t member) {
  std::string key(8, '\0');
  StoreBe32(reinterpret_cast<std::byte*>(key.data()), group);
  StoreBe32(reinterpret_cast<std::byte*>(key.data() + 4), member);
  return key;
}
std::string StartOf(uint32_t group) { return KeyOf(group, 0).substr(0, 4); }

struct Seeks {
  uint64_t local = ReadCounter(Counter::kLeafSeeksLocal);
  uint64_t neighbour = ReadCounter(Counter::kSeeksToNeighbour);
  uint64_t climbed = ReadCounter(Counter::kSeeksClimbed);
  uint64_t descended = ReadCounter(Counter::kLeafSeeksDescend);
};

class GroupSeekTest : public ::testing::TestWithParam<uint32_t> {
 protected:
  static constexpr uint32_t kEntries = 24000;
  const uint32_t members_ = GetParam();
  const uint32_t groups_ = kEntries / members_;
  TreeFixture fixture_{TreeFixture::SmallPages()};
  Cursor cursor_{&fixture_.tree()};

  void SetUp() override {
    for (uint32_t group = 0; group < groups_; ++group) {
      for (uint32_t member = 0; member < members_; ++member) {
        ASSERT_TRUE(fixture_.Put(KeyOf(group, member), std::string(40, 'v')).ok());
      }
    }
  }
  void ExpectAt(const Status& status, uint32_t group, uint32_t member) {
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(AsText(cursor_.key()), KeyOf(group, member));
    cursor_.Unlatch();
  }
  /// Descents are the first seek and what crosses from child to child of the root.
  void ExpectFewDescents(const Seeks& before) {
    const Seeks after;
    EXPECT_LE(after.descended - before.descended, 30u);
    EXPECT_GE(after.local + after.neighbour + after.climbed + 30, before.local + groups_);
  }
};

TEST_P(GroupSeekTest, ForwardFromFirstToFirst) {
  const Seeks before;
  for (uint32_t group = 0; group < groups_; ++group) {
    ExpectAt(cursor_.SeekAtLeast(AsBytes(StartOf(group))), group, 0);
  }
  ExpectFewDescents(before);
}

TEST_P(GroupSeekTest, BackwardFromLastToLast) {
  const Seeks before;
  for (uint32_t group = groups_; group-- > 0;) {
    ExpectAt(cursor_.SeekBefore(AsBytes(StartOf(group + 1))), group, members_ - 1);
  }
  ExpectFewDescents(before);
}

TEST_P(GroupSeekTest, FirstAndLastOfEachGroup) {
  const Seeks before;
  for (uint32_t group = 0; group < groups_; ++group) {
    ExpectAt(cursor_.SeekAtLeast(AsBytes(StartOf(group))), group, 0);
    ExpectAt(cursor_.SeekBefore(AsBytes(StartOf(group + 1))), group, members_ - 1);
  }
  ExpectFewDescents(before);
}

TEST_P(GroupSeekTest, AWalkBackwardFindsAll) {
  Status status = cursor_.SeekLast();
  for (uint32_t left = groups_ * members_; left-- > 0; status = cursor_.Prev()) {
    ASSERT_TRUE(status.ok());
    ASSERT_EQ(AsText(cursor_.key()), KeyOf(left / members_, left % members_));
  }
  EXPECT_TRUE(status.Is(Code::kEndOfRange));
}

INSTANTIATE_TEST_SUITE_P(Members, GroupSeekTest, ::testing::Values(1u, 10u, 60u, 1000u));

/// Targets that move by steps of all sizes, as loose scans, joins and searches do.
class Targets {
 public:
  explicit Targets(uint64_t seed) : random_(seed) {}
  std::string Next() {
    const uint32_t kind = random_.Below(8);
    if (kind == 0) {
      group_ = random_.Below(kGroups);
    } else {
      const uint32_t step = kind < 4 ? 1 : (kind < 7 ? random_.Below(8) : random_.Below(300));
      group_ = (random_.OneIn(2) ? group_ + step : group_ + kGroups - step) % kGroups;
    }
    if (random_.OneIn(2)) return StartOf(group_);
    return KeyOf(group_, random_.Below(kMembers));
  }
  Random* random() { return &random_; }

  static constexpr uint32_t kGroups = 700;
  static constexpr uint32_t kMembers = 20;

 private:
  Random random_;
  uint32_t group_ = 0;
};

using Model = std::map<std::string, std::string>;

/// The leaf that is held owns the absent key: the entries next to its place are the model's.
void ExpectAbsent(const Cursor& cursor, const std::string& key, const Model& model) {
  ASSERT_TRUE(cursor.latched());
  const NodeView leaf = cursor.View();
  ASSERT_TRUE(!leaf.has_high_key() || CompareBytes(AsBytes(key), leaf.high_key()) < 0);
  const auto next = model.lower_bound(key);
  const uint16_t slot = SearchNode(leaf.page(), AsBytes(key)).slot;
  std::vector<std::byte> entry;
  if (slot < leaf.count()) {
    AssembleKey(leaf, slot, &entry);
    ASSERT_TRUE(next != model.end() && AsText(entry) == next->first);
  }
  if (slot > 0) {
    AssembleKey(leaf, slot - 1u, &entry);
    ASSERT_TRUE(next != model.begin() && AsText(entry) == std::prev(next)->first);
  }
}

void ExpectExactly(Cursor* cursor, const std::string& key, const Model& model) {
  const Status status = cursor->SeekExactly(AsBytes(key));
  const auto expected = model.find(key);
  if (expected == model.end()) {
    ASSERT_TRUE(status.Is(Code::kNotFound)) << status.message();
    ExpectAbsent(*cursor, key, model);
  } else {
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_EQ(AsText(cursor->key()), key);
    ASSERT_EQ(AsText(cursor->value()), expected->second);
  }
  cursor->Unlatch();
}

TEST(CursorSeekTest, SeeksFindWhatAMapFindsWhileTheTreeChanges) {
  TreeFixture fixture(TreeFixture::SmallPages());
  Model model;
  Targets targets(TestSeed());
  Random* random = targets.random();
  Cursor cursor(&fixture.tree());
  for (int i = 0; i < 60000; ++i) {
    if (random->OneIn(3)) {
      // Grows in one half of the rounds, shrinks in the other one.
      const std::string key = targets.Next();
      if (random->Below(10) < ((i / 10000) % 2 == 0 ? 8u : 2u)) {
        ASSERT_TRUE(fixture.Put(key, model[key] = std::string(random->Below(90), 'v')).ok());
      } else if (model.erase(key) == 1) {
        ASSERT_TRUE(fixture.Remove(key).ok());
        ASSERT_TRUE(fixture.tree().MergeIfSmall(AsBytes(key)).ok());
      }
      continue;
    }
    const std::string target = targets.Next();
    if (random->OneIn(4)) {
      ExpectExactly(&cursor, target, model);
      continue;
    }
    const bool before = random->OneIn(2);
    auto expected = model.lower_bound(target);
    Status status =
        before ? cursor.SeekBefore(AsBytes(target)) : cursor.SeekAtLeast(AsBytes(target));
    const bool none = before ? expected == model.begin() : expected == model.end();
    if (before && !none) --expected;
    ASSERT_EQ(status.ok(), !none) << status.message();
    if (none) continue;
    ASSERT_EQ(AsText(cursor.key()), expected->first);
    if (random->OneIn(2)) {
      status = cursor.Prev();
      ASSERT_EQ(status.ok(), expected != model.begin());
      if (status.ok()) {
        ASSERT_EQ(AsText(cursor.key()), std::prev(expected)->first);
      }
    }
    cursor.Unlatch();
  }
}

/// Fixed keys among those that come and go: what a seek finds lies between its target and the
/// fixed key next to it.
class MovingTree {
 public:
  MovingTree() {
    for (uint32_t group = 0; group < Targets::kGroups; group += kFixedEvery) {
      fixed_.push_back(KeyOf(group, 1));
      EXPECT_TRUE(fixture_.Put(fixed_.back(), "fixed").ok());
    }
  }

  void Write(uint64_t seed) {
    Random random(seed);
    // Some also when the readers are through before the writers get a core.
    constexpr int kStretchesMin = 40;
    for (int i = 0; (readers_ > 0 || i < kStretchesMin) && !testing::Test::HasFailure(); ++i) {
      // Whole stretches come and go, so that pages split, merge and are used again.
      const uint32_t first = random.Below(Targets::kGroups);
      const bool put = random.OneIn(2);
      for (uint32_t group = first; group < first + 40; ++group) {
        for (uint32_t member = 2; member < Targets::kMembers; ++member) {
          const std::string key = KeyOf(group, member);
          const Status status = put ? fixture_.Put(key, std::string(60, 'v')) : Remove(key);
          ASSERT_TRUE(status.ok() || status.Is(Code::kNotFound)) << status.message();
        }
      }
    }
  }

  void Seek(uint64_t seed) {
    Targets targets(seed);
    Cursor cursor(&fixture_.tree());
    for (int i = 0; i < kSeeks && !testing::Test::HasFailure(); ++i) {
      const std::string target = targets.Next();
      const auto next = std::lower_bound(fixed_.begin(), fixed_.end(), target);
      if (targets.random()->OneIn(2)) {
        const Status status = cursor.SeekAtLeast(AsBytes(target));
        ASSERT_TRUE(status.ok() || (status.Is(Code::kEndOfRange) && next == fixed_.end()));
        if (!status.ok()) continue;
        ASSERT_GE(AsText(cursor.key()), target);
        ASSERT_TRUE(next == fixed_.end() || AsText(cursor.key()) <= *next);
      } else {
        const Status status = cursor.SeekBefore(AsBytes(target));
        ASSERT_TRUE(status.ok() || (status.Is(Code::kEndOfRange) && next == fixed_.begin()));
        if (!status.ok()) continue;
        ASSERT_LT(AsText(cursor.key()), target);
        ASSERT_TRUE(next == fixed_.begin() || AsText(cursor.key()) >= *std::prev(next));
      }
      cursor.Unlatch();
    }
    --readers_;
  }

  void Run() {
    std::vector<std::thread> threads;
    for (uint64_t i = 0; i < 2; ++i) {
      threads.emplace_back([this, i] { Write(TestSeed() + i); });
      threads.emplace_back([this, i] { Seek(TestSeed() + 10 + i); });
    }
    for (std::thread& thread : threads) thread.join();
    EXPECT_TRUE(fixture_.tree().Check({}).ok());
  }

 private:
  static constexpr uint32_t kFixedEvery = 9;
  static constexpr int kSeeks = 15000;

  Status Remove(const std::string& key) {
    const Status status = fixture_.Remove(key);
    return status.ok() ? fixture_.tree().MergeIfSmall(AsBytes(key)) : status;
  }

  TreeFixture fixture_{TreeFixture::SmallPages()};
  std::vector<std::string> fixed_;  // ascending
  std::atomic<int> readers_{2};     // counted down by readers, read by writers
};

TEST(CursorSeekTest, RememberedPagesThatSplitMergeAndAreFreedMisleadNobody) {
  const uint64_t splits = ReadCounter(Counter::kTreeSplits);
  const uint64_t merges = ReadCounter(Counter::kTreeMerges);
  MovingTree().Run();
  EXPECT_GT(ReadCounter(Counter::kTreeSplits), splits);
  EXPECT_GT(ReadCounter(Counter::kTreeMerges), merges);
}

}  // namespace
}  // namespace rowan::cursor_seek_test
