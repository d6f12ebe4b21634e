// SPDX-License-Identifier: GPL-2.0-only
// The memory of visibility maps. What they say is in visibility_map_test.cc of mvcc/.
#include "btree/leaf_map.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

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

TEST(LeafMap, SaysTheSameAsAMapOfWords) {
  Random random(TestSeed());
  LeafMap map(std::make_shared<MemoryShare>(uint64_t{1} << 30));
  struct Noted {
    size_t live;
    size_t entries;
    TxnId stamp;
  };
  std::map<PageNumber, Noted> model;
  for (int step = 0; step < 10000; ++step) {
    // Near each other, and far away.
    const PageNumber page(static_cast<uint32_t>(
        random.OneIn(3) ? random.Next() >> random.Between(40, 60) : random.Below(500)));
    const auto known = model.find(page);
    const TxnId stamp(random.Below(100));
    if (random.OneIn(3)) {
      const size_t entries = random.Below(400);
      model[page] = {random.Below(entries + 1), entries, stamp};
      map.Note(page, LeafWord(model[page].live, entries, stamp));
    } else if (random.OneIn(5)) {
      map.Forget(page);
      model.erase(page);
    } else if (known == model.end()) {
      map.Change(page, 1, 5, stamp);  // of what is not known
    } else {
      Noted& noted = known->second;
      const int by = noted.live == 0 ? 1 : static_cast<int>(random.Below(3)) - 1;
      noted.live += static_cast<size_t>(by);
      noted.entries = noted.live + random.Below(2);
      noted.stamp = std::max(noted.stamp, stamp);
      map.Change(page, by, noted.entries, stamp);
    }
    const LeafWord word = map.Get(page);
    const auto now = model.find(page);
    ASSERT_EQ(word.known(), now != model.end());
    if (!word.known()) continue;
    ASSERT_EQ(word.live(), now->second.live);
    ASSERT_EQ(word.clean(), now->second.live == now->second.entries);
    ASSERT_EQ(word.stamp(), now->second.stamp);
  }
  const TxnId low_txn(50);
  uint64_t all_visible = 0;
  for (const auto& [page, noted] : model) {
    all_visible += noted.live == noted.entries && noted.stamp < low_txn ? 1 : 0;
  }
  EXPECT_EQ(map.Summarize(low_txn).known, model.size());
  EXPECT_EQ(map.Summarize(low_txn).all_visible, all_visible);
}

TEST(LeafMap, ThreadsThatNoteLeavesOfTheirOwnLoseNone) {
  const auto memory = std::make_shared<MemoryShare>(uint64_t{1} << 30);
  LeafMap map(memory);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&map, thread] {
      for (uint32_t i = 0; i < 5000; ++i) {
        const PageNumber page(i * 4 + thread);
        map.Note(page, kWord);
        map.Change(page, -1, 5, TxnId(9));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (uint32_t page = 0; page < 20000; ++page) {
    ASSERT_EQ(map.Get(PageNumber(page)).bits(), LeafWord(4, 5, TxnId(9)).bits());
  }
  map.Clear();
  EXPECT_EQ(memory->bytes(), 0u) << "also what the slower of two had made";
}

}  // namespace
}  // namespace rowan
