// SPDX-License-Identifier: GPL-2.0-only
// A range cut into pieces: together they are the range, and each is some whole leaves.
#include "btree/range_cutter.h"

#include <gtest/gtest.h>

#include <atomic>
#include <string>
#include <thread>
#include <vector>

#include "tests/btree/tree_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

class RangeCutterTest : public ::testing::Test {
 protected:
  TreeFixture fixture_{TreeFixture::SmallPages()};

  static std::string KeyOf(uint32_t number, const std::string& prefix = "") {
    std::string key = prefix + std::string(4, '\0');
    StoreBe32(reinterpret_cast<std::byte*>(key.data() + prefix.size()), number);
    return key;
  }
  void Fill(uint32_t entries, const std::string& prefix = "") {
    for (uint32_t i = 0; i < entries; ++i) {
      ASSERT_TRUE(fixture_.Put(KeyOf(i * 2654435761u, prefix), std::string(40, 'v')).ok());
    }
  }
  /// Bounds of the pieces, each of which begins where the one before ends.
  std::vector<std::string> Cut(const std::string& from, const std::string& end) {
    std::vector<std::string> bounds{from};
    RangeCutter cutter(&fixture_.tree(), AsBytes(from), AsBytes(end));
    Status status = cutter.Next();
    for (; status.ok(); status = cutter.Next()) {
      EXPECT_EQ(AsText(cutter.from()), bounds.back());
      bounds.emplace_back(AsText(cutter.end()));
      EXPECT_TRUE(bounds.back().empty() || bounds.back() > *(bounds.end() - 2));
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    EXPECT_EQ(bounds.back(), end);
    return bounds;
  }
  /// Where the leaves begin, without the first one.
  std::vector<std::string> LeafBounds() {
    std::vector<std::string> bounds;
    for (const TreeFixture::Leaf& leaf : fixture_.Leaves()) {
      if (!leaf.high.empty()) bounds.push_back(leaf.high);
    }
    return bounds;
  }
};

TEST_F(RangeCutterTest, PiecesAreSomeWholeLeaves) {
  Fill(24000);
  const std::vector<std::string> leaves = LeafBounds();
  const std::vector<std::string> bounds = Cut("", "");
  EXPECT_GT(bounds.size(), 20U);
  EXPECT_LT(bounds.size(), leaves.size());
  for (size_t i = 1; i + 1 < bounds.size(); ++i) {
    EXPECT_TRUE(std::find(leaves.begin(), leaves.end(), bounds[i]) != leaves.end());
  }
}

TEST_F(RangeCutterTest, ASmallTreeHasAPieceForEachLeaf) {
  Fill(600);
  const size_t leaves = fixture_.Leaves().size();
  ASSERT_LT(leaves, 32U);
  EXPECT_EQ(Cut("", "").size(), leaves + 1);
}

TEST_F(RangeCutterTest, OneLeafIsOnePiece) {
  Fill(20);
  EXPECT_EQ(Cut("", ""), (std::vector<std::string>{"", ""}));
  EXPECT_EQ(Cut(KeyOf(1), KeyOf(7)), (std::vector<std::string>{KeyOf(1), KeyOf(7)}));
}

TEST_F(RangeCutterTest, BoundsOfTheRangeStay) {
  Fill(24000);
  Random random(TestSeed());
  for (int i = 0; i < 100; ++i) {
    std::string from = KeyOf(static_cast<uint32_t>(random.Next()));
    std::string end = KeyOf(static_cast<uint32_t>(random.Next()));
    if (end < from) std::swap(from, end);
    Cut(from, random.Below(4) == 0 ? "" : end);
    Cut("", end);
  }
}

TEST_F(RangeCutterTest, ParentsThatDoNotKnowWhereTheyEnd) {
  Fill(1200, std::string(700, 'p'));  // too long for a high key
  EXPECT_GT(Cut("", "").size(), 40U);
}

TEST_F(RangeCutterTest, PiecesAreTheRangeWhileOthersSplitAndMergeLeaves) {
  Fill(6000);
  std::atomic<bool> ends{false};
  std::thread writer([&] {
    Random random(TestSeed());
    while (!ends.load()) {
      const std::string key = KeyOf(static_cast<uint32_t>(random.Next()));
      if (!fixture_.Put(key, std::string(200, 'w')).ok()) break;
      if (random.Below(2) == 0 && !fixture_.Remove(key).ok()) break;
    }
  });
  for (int i = 0; i < 300; ++i) Cut("", "");
  ends = true;
  writer.join();
}

}  // namespace
}  // namespace rowan
