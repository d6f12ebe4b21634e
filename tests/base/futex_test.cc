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

TEST(FutexTest, OfThoseWhoShareAWordSomeAreWoken) {
  constexpr uint32_t kSleepers = 6;
  std::atomic<uint32_t> word{0};
  std::atomic<uint32_t> ended{0};  // bits
  std::atomic<uint32_t> woken{0};
  std::vector<std::thread> sleepers;
  for (uint32_t i = 0; i < kSleepers; ++i) {
    sleepers.emplace_back([&, bit = uint32_t{1} << i] {
      for (;;) {
        const uint32_t before = word.load();
        if ((ended.load() & bit) != 0) break;
        FutexWaitWith(&word, before, bit);
      }
      woken |= bit;
    });
  }
  for (const uint32_t bits : {0b001001u, 0b100000u, 0b010110u}) {
    ended |= bits;
    ++word;
    FutexWakeWith(&word, bits);
    while ((woken.load() & bits) != bits) std::this_thread::yield();
    EXPECT_EQ(woken.load() & ~ended.load(), 0u);
  }
  for (std::thread& sleeper : sleepers) sleeper.join();
}

}  // namespace
}  // namespace rowan
