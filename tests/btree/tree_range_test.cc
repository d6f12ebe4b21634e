// SPDX-License-Identifier: GPL-2.0-only
// Sizes of ranges that few leaves hold are exact, wherever their ends lie, and after merges too.
#include <gtest/gtest.h>

#include <iterator>
#include <set>
#include <string>

#include "base/random.h"
#include "tests/btree/tree_fixture.h"

namespace rowan {
namespace {

/// Parameter: bytes before the number. With long keys leaves do not know where they end.
class TreeRangeTest : public ::testing::TestWithParam<size_t> {
 protected:
  std::string KeyOf(uint32_t number) const {
    std::string key(GetParam(), 'k');
    key.resize(GetParam() + 4);
    StoreBe32(reinterpret_cast<std::byte*>(key.data() + GetParam()), number);
    return key;
  }
  void ExpectExact(const std::string& low, const std::string& high) {
    const auto first = keys_.lower_bound(low);
    const auto last = high.empty() ? keys_.end() : keys_.lower_bound(high);
    const bool empty = !high.empty() && low >= high;
    Result<uint64_t> rows = fixture_.tree().EstimateRange(AsBytes(low), AsBytes(high));
    ASSERT_TRUE(rows.ok()) << rows.status().message();
    EXPECT_EQ(*rows, empty ? 0 : static_cast<uint64_t>(std::distance(first, last)));
  }
  std::string Bound(Random* random) {
    if (random->OneIn(10)) return {};
    std::string key = KeyOf(random->Below(kNumbers + 2));
    if (random->OneIn(3)) key.push_back('\0');
    return key;
  }

  static constexpr uint32_t kNumbers = 500;
  TreeFixture fixture_{TreeFixture::SmallPages(512)};
  std::set<std::string> keys_;
};

TEST_P(TreeRangeTest, RangesOfFewLeavesAreCounted) {
  Random random(TestSeed());
  const size_t entries = GetParam() < 100 ? kNumbers : 12;  // few leaves of each
  for (int round = 0; round < 40; ++round) {
    const std::string key = KeyOf(random.Below(kNumbers));
    for (int i = 0; i < 40; ++i) {
      const std::string other = KeyOf(random.Below(kNumbers));
      const bool shrinks = round > 20 || keys_.size() >= entries;
      if (!shrinks) {
        ASSERT_TRUE(fixture_.Put(other, std::string(40, 'v')).ok());
        keys_.insert(other);
      } else if (keys_.erase(other) == 1) {
        ASSERT_TRUE(fixture_.Remove(other).ok());
        ASSERT_TRUE(fixture_.tree().MergeIfSmall(AsBytes(other)).ok());
      }
    }
    for (int i = 0; i < 200; ++i) ExpectExact(Bound(&random), Bound(&random));
    ExpectExact(key, key + '\0');
  }
}

INSTANTIATE_TEST_SUITE_P(Prefixes, TreeRangeTest, ::testing::Values(0u, 20u, 700u));

}  // namespace
}  // namespace rowan
