// SPDX-License-Identifier: GPL-2.0-only
#include "base/futex.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(FutexTest, AnotherValueIsNotWaitedFor) {
  std::atomic<uint32_t> word{1};
  FutexWait(&word, 0);  // without a limit: it would never return
  EXPECT_EQ(word.load(), 1u);
}

TEST(FutexTest, ALimitEndsTheWait) {
  std::atomic<uint32_t> word{0};
  FutexWait(&word, 0, 1'000'000);
  EXPECT_EQ(word.load(), 0u);
}

TEST(FutexTest, AllWhoSleepAreWoken) {
  constexpr int kSleepers = 4;
  std::atomic<uint32_t> word{0};
  std::atomic<int> woken{0};
  std::vector<std::thread> sleepers;
  for (int i = 0; i < kSleepers; ++i) {
    sleepers.emplace_back([&] {
      while (word.load() == 0) FutexWait(&word, 0);
      ++woken;
    });
  }
  word = 1;
  FutexWakeAll(&word);
  for (std::thread& sleeper : sleepers) sleeper.join();
  EXPECT_EQ(woken, kSleepers);
}

}  // namespace
}  // namespace rowan
