// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/changed_indexes.h"

#include <gtest/gtest.h>

#include <set>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(ChangedIndexes, HasEachOnceWhateverTheOrder) {
  Random random(TestSeed());
  ChangedIndexes changed;
  for (const uint64_t most : {3u, 40u, 5000u}) {
    std::set<IndexId> model;
    for (int i = 0; i < 20'000; ++i) {
      const IndexId index(random.Below(most));
      changed.Note(index);
      if (index != kNoIndex) model.insert(index);
    }
    const std::vector<IndexId> expected(model.begin(), model.end());
    EXPECT_EQ(changed.All(), expected);
    ChangedIndexes decoded;
    ASSERT_TRUE(decoded.Decode(changed.Encode()));
    EXPECT_EQ(decoded.All(), expected);
    changed.Clear();
    EXPECT_TRUE(changed.All().empty());
  }
}

TEST(ChangedIndexes, RefusesBytesThatAreNoList) {
  ChangedIndexes changed;
  const std::byte cut[] = {std::byte{5}, std::byte{0x80}};
  EXPECT_FALSE(changed.Decode(cut));
  const std::byte twice[] = {std::byte{5}, std::byte{0}};
  EXPECT_FALSE(changed.Decode(twice));
}

}  // namespace
}  // namespace rowan
