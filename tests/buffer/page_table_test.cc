// SPDX-License-Identifier: GPL-2.0-only
// The page table alone: against a map, with long overflow chains, and under concurrency.
#include "buffer/page_table.h"

#include <gtest/gtest.h>

#include <atomic>
#include <map>
#include <thread>
#include <vector>

#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(PageTable, AgreesWithAMapThroughRandomInsertsAndRemoves) {
  constexpr uint32_t kFrames = 64;  // 32 buckets: overflow chains come and go
  PageTable table(kFrames);
  std::map<uint64_t, uint32_t> model;
  std::vector<bool> used(kFrames);
  Random random(TestSeed());
  for (int step = 0; step < 200000; ++step) {
    const uint64_t key = 1 + random.Next() % 200;
    const auto found = model.find(key);
    EXPECT_EQ(table.Lookup(key), found == model.end() ? PageTable::kNone : found->second);
    if (found != model.end()) {
      EXPECT_FALSE(table.Remove(key, (found->second + 1) % kFrames));
      EXPECT_EQ(table.InsertIfAbsent(key, 0), found->second);
      EXPECT_TRUE(table.Remove(key, found->second));
      used[found->second] = false;
      model.erase(found);
    } else if (model.size() < kFrames) {
      uint32_t frame = 0;
      while (used[frame]) ++frame;
      EXPECT_EQ(table.InsertIfAbsent(key, frame), PageTable::kNone);
      used[frame] = true;
      model[key] = frame;
    }
  }
}

TEST(PageTable, EntriesThatStayAreAlwaysFoundWhileOthersComeAndGo) {
  constexpr uint32_t kFrames = 128;
  constexpr uint32_t kStable = 40;
  PageTable table(kFrames);
  for (uint32_t i = 0; i < kStable; ++i) {
    ASSERT_EQ(table.InsertIfAbsent(1000 + i, i), PageTable::kNone);
  }
  std::atomic<bool> stop{false};
  std::atomic<uint64_t> wrong{0};
  std::vector<std::thread> threads;
  for (uint32_t writer = 0; writer < 2; ++writer) {
    threads.emplace_back([&, writer] {
      const uint32_t first = kStable + writer * 44;
      for (uint64_t round = 0; !stop.load(std::memory_order_relaxed); ++round) {
        for (uint32_t i = 0; i < 44; ++i) {
          const uint64_t key = 5000 + (round % 7) * 100 + writer * 10000 + i;
          if (table.InsertIfAbsent(key, first + i) != PageTable::kNone) ++wrong;
        }
        for (uint32_t i = 0; i < 44; ++i) {
          const uint64_t key = 5000 + (round % 7) * 100 + writer * 10000 + i;
          if (!table.Remove(key, first + i)) ++wrong;
        }
      }
    });
  }
  for (int reader = 0; reader < 2; ++reader) {
    threads.emplace_back([&] {
      for (int round = 0; round < 20000; ++round) {
        const auto i = static_cast<uint32_t>(round) % kStable;
        if (table.Lookup(1000 + i) != i) ++wrong;
        if (table.Lookup(999999) != PageTable::kNone) ++wrong;
      }
      stop.store(true);
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(wrong.load(), 0u);
}

TEST(PageTable, OneOfManyConcurrentInsertersWins) {
  PageTable table(64);
  for (uint64_t key = 1; key < 500; ++key) {
    std::atomic<uint32_t> winners{0};
    std::vector<std::thread> threads;
    for (uint32_t frame = 0; frame < 3; ++frame) {
      threads.emplace_back([&, frame] {
        if (table.InsertIfAbsent(key, frame) == PageTable::kNone) ++winners;
      });
    }
    for (auto& thread : threads) thread.join();
    ASSERT_EQ(winners.load(), 1u);
    ASSERT_TRUE(table.Remove(key, table.Lookup(key)));
  }
}

}  // namespace
}  // namespace rowan
