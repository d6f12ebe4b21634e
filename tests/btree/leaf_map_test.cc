// SPDX-License-Identifier: GPL-2.0-only
// The memory of visibility maps. What they say is in visibility_map_test.cc of mvcc/.
#include "btree/leaf_map.h"

#include <gtest/gtest.h>

#include <memory>

namespace rowan {
namespace {

constexpr LeafWord kWord{5, 5, TxnId(7)};

TEST(LeafMap, TakesItsShareAndNoMore) {
  constexpr uint64_t kBytesMax = 20'000;
  constexpr uint32_t kPages = 100'000;
  const auto memory = std::make_shared<MemoryShare>(kBytesMax);
  auto map = std::make_unique<LeafMap>(memory);
  uint32_t known = 0;
  for (uint32_t page = 1; page < kPages; ++page) {
    map->Note(PageNumber(page), kWord);
    ASSERT_LE(memory->bytes(), kBytesMax);
    const LeafWord word = map->Get(PageNumber(page));
    ASSERT_TRUE(!word.known() || word.bits() == kWord.bits());
    known += word.known() ? 1 : 0;
  }
  EXPECT_GT(known, kBytesMax / 2 / sizeof(LeafWord)) << "most of the memory is words";
  EXPECT_EQ(map->Summarize(TxnId(8)).known, known);
  EXPECT_TRUE(memory->TakeRefused());
  EXPECT_FALSE(memory->TakeRefused());
  // What has a word keeps it up to date, and nothing else begins to have one.
  map->Change(PageNumber(1), -1, 5, TxnId(9));
  EXPECT_EQ(map->Get(PageNumber(1)).live(), 4u);
  map->Change(PageNumber(kPages - 1), -1, 5, TxnId(9));
  EXPECT_FALSE(map->Get(PageNumber(kPages - 1)).known());
  // Another map has its turn when this one gives back.
  LeafMap other(memory);
  other.Note(PageNumber(1), kWord);
  EXPECT_FALSE(other.Get(PageNumber(1)).known());
  map->Clear();
  EXPECT_EQ(memory->bytes(), 0u);
  EXPECT_FALSE(map->Get(PageNumber(1)).known());
  other.Note(PageNumber(1), kWord);
  EXPECT_TRUE(other.Get(PageNumber(1)).known());
  map->Note(PageNumber(2), kWord);
  EXPECT_TRUE(map->Get(PageNumber(2)).known());
  map.reset();
  other.Clear();
  EXPECT_EQ(memory->bytes(), 0u);
}

}  // namespace
}  // namespace rowan
