// SPDX-License-Identifier: GPL-2.0-only
// Leaves chosen at random: whole ones, each with the same chance, and about as many as asked for.
#include "btree/leaf_sample.h"

#include <gtest/gtest.h>

#include <set>
#include <string>

#include "tests/btree/tree_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

class LeafSampleTest : public ::testing::Test {
 protected:
  TreeFixture fixture_{TreeFixture::SmallPages()};
  std::set<PageNumber> chosen_;
  uint64_t entries_ = 0;

  void Fill(uint32_t entries, const std::string& prefix = "") {
    for (uint32_t i = 0; i < entries; ++i) {
      std::string key = prefix + std::string(4, '\0');
      StoreBe32(reinterpret_cast<std::byte*>(key.data() + prefix.size()), i * 2654435761u);
      ASSERT_TRUE(fixture_.Put(key, std::string(40, 'v')).ok());
    }
  }
  /// Notes leaves and entries of a stretch.
  void Visit(Bytes from, Bytes end) {
    Cursor cursor(&fixture_.tree());
    Status status = from.empty() ? cursor.SeekFirst() : cursor.SeekAtLeast(from);
    ASSERT_TRUE(status.ok());
    EXPECT_EQ(cursor.slot(), 0) << "begins within a leaf";
    for (; status.ok(); status = cursor.Next()) {
      if (!end.empty() && CompareBytes(cursor.key(), end) >= 0) {
        EXPECT_EQ(cursor.slot(), 0) << "ends within a leaf";
        return;
      }
      chosen_.insert(cursor.leaf());
      ++entries_;
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange));
  }
  void Draw(double share, uint64_t seed) {
    chosen_.clear();
    entries_ = 0;
    Random random(seed);
    LeafSample sample(&fixture_.tree(), share, &random);
    Status status = sample.Next();
    for (; status.ok(); status = sample.Next()) Visit(sample.from(), sample.end());
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    EXPECT_TRUE(sample.Next().Is(Code::kEndOfRange));
  }
};

TEST_F(LeafSampleTest, ChoosesAboutTheShare) {
  constexpr uint32_t kEntries = 24000;
  constexpr uint64_t kSeeds = 40;
  Fill(kEntries);
  std::set<PageNumber> ever;
  double shares = 0;
  for (uint64_t seed = 0; seed < kSeeds; ++seed) {
    Draw(0.2, TestSeed() + seed);
    shares += static_cast<double>(entries_) / kEntries;
    ever.insert(chosen_.begin(), chosen_.end());
  }
  EXPECT_NEAR(shares / kSeeds, 0.2, 0.03);
  Draw(0, 1);
  EXPECT_EQ(entries_, 0U);
  Draw(1, 1);
  EXPECT_EQ(entries_, kEntries);
  EXPECT_GT(ever.size(), chosen_.size() * 9 / 10) << "each leaf has a chance";
}

TEST_F(LeafSampleTest, ParentsThatDoNotKnowWhereTheyEnd) {
  constexpr uint32_t kEntries = 1200;
  Fill(kEntries, std::string(700, 'p'));  // too long for a high key
  Draw(1, 1);
  EXPECT_EQ(entries_, kEntries);
  double shares = 0;
  for (uint64_t seed = 0; seed < 40; ++seed) {
    Draw(0.5, TestSeed() + seed);
    shares += static_cast<double>(entries_) / kEntries;
  }
  EXPECT_NEAR(shares / 40, 0.5, 0.08);
}

TEST_F(LeafSampleTest, OneLeafIsChosenWhole) {
  Fill(20);
  Draw(0.001, 1);
  EXPECT_EQ(entries_, 20U);
}

}  // namespace
}  // namespace rowan
