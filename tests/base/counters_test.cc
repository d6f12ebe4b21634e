// SPDX-License-Identifier: GPL-2.0-only
#include "base/counters.h"

#include <gtest/gtest.h>

#include <atomic>
#include <set>
#include <string>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(CountersTest, SumsOverAllThreads) {
  ResetCounters();
  constexpr int kThreads = 40;
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    threads.emplace_back([] {
      for (int round = 0; round < 1000; ++round) AddCounter(Counter::kRowsRead);
      AddCounter(Counter::kLogBytes, 5);
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadCounter(Counter::kRowsRead), 40000u);
  EXPECT_EQ(ReadCounter(Counter::kLogBytes), 200u);
  EXPECT_EQ(ReadCounter(Counter::kRowsDeleted), 0u);
  ResetCounters();
  EXPECT_EQ(ReadCounter(Counter::kRowsRead), 0u);
}

TEST(CountersTest, NothingIsLostWhenThreadsShareTheLastShardOrReuseOne) {
  ResetCounters();
  constexpr uint32_t kThreads = counters_internal::kOwnedShards + 50;
  std::atomic<uint32_t> counted{0};
  std::atomic<bool> finish{false};
  std::vector<std::thread> threads;
  for (uint32_t i = 0; i < kThreads; ++i) {
    threads.emplace_back([&] {
      AddCounter(Counter::kCommits);
      ++counted;
      counted.notify_all();
      finish.wait(false);
      for (int round = 0; round < 100; ++round) AddCounter(Counter::kCommits);
    });
  }
  for (uint32_t now = counted.load(); now < kThreads; now = counted.load()) counted.wait(now);
  EXPECT_EQ(ReadCounter(Counter::kCommits), kThreads);
  finish = true;
  finish.notify_all();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(ReadCounter(Counter::kCommits), kThreads * 101);
  std::thread([] { AddCounter(Counter::kCommits); }).join();
  EXPECT_EQ(ReadCounter(Counter::kCommits), kThreads * 101 + 1);
}

TEST(CountersTest, EveryCounterHasAUniqueNameAndAHelpSentence) {
  std::set<std::string> names;
  for (uint32_t i = 0; i < static_cast<uint32_t>(Counter::kCount); ++i) {
    const CounterInfo& info = CounterDescription(static_cast<Counter>(i));
    EXPECT_TRUE(names.insert(info.name).second) << info.name;
    EXPECT_TRUE(std::string(info.help).ends_with('.')) << info.name;
    EXPECT_NE(std::string(info.unit), "");
  }
}

}  // namespace
}  // namespace rowan
