// SPDX-License-Identifier: GPL-2.0-only
#include "base/thread_loop.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>

namespace rowan {
namespace {

using std::chrono::milliseconds;
constexpr milliseconds kNever{3'600'000};

void AwaitAtLeast(const std::atomic<int>& value, int wanted) {
  while (value.load() < wanted) std::this_thread::yield();
}

TEST(ThreadLoopTest, WakeCausesOneMoreRoundEach) {
  std::atomic<int> rounds{0};
  ThreadLoop loop("test", kNever, [&] {
    ++rounds;
    return ThreadLoop::Next::kWait;
  });
  ASSERT_TRUE(loop.Start().ok());
  for (int wanted = 2; wanted < 200; ++wanted) {
    const int before = rounds.load();
    loop.Wake();
    AwaitAtLeast(rounds, before + 1);
  }
}

TEST(ThreadLoopTest, TheTickRunsTheWorkUnasked) {
  std::atomic<int> rounds{0};
  ThreadLoop loop("test", milliseconds(1), [&] {
    ++rounds;
    return ThreadLoop::Next::kWait;
  });
  ASSERT_TRUE(loop.Start().ok());
  AwaitAtLeast(rounds, 3);
}

TEST(ThreadLoopTest, AgainRunsWithoutWaiting) {
  std::atomic<int> rounds{0};
  ThreadLoop loop("test", kNever, [&] {
    return ++rounds < 1000 ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
  });
  ASSERT_TRUE(loop.Start().ok());
  AwaitAtLeast(rounds, 1000);
  loop.Stop();
  EXPECT_EQ(rounds.load(), 1000);
}

TEST(ThreadLoopTest, StopInterruptsTheWaitAndMayBeRepeated) {
  ThreadLoop loop("a-rather-long-name", kNever, [] { return ThreadLoop::Next::kWait; });
  loop.Stop();
  ASSERT_TRUE(loop.Start().ok());
  loop.Stop();
  loop.Stop();
  EXPECT_TRUE(loop.stopping());
  ASSERT_TRUE(loop.Start().ok());
  EXPECT_FALSE(loop.stopping());
}

TEST(ThreadLoopTest, WakesFromManyThreadsAreNotLost) {
  std::atomic<int> posted{0};
  std::atomic<int> seen{0};
  ThreadLoop loop("test", kNever, [&] {
    seen.store(posted.load());
    return ThreadLoop::Next::kWait;
  });
  ASSERT_TRUE(loop.Start().ok());
  std::thread posters[4];
  for (std::thread& poster : posters) {
    poster = std::thread([&] {
      for (int i = 0; i < 2000; ++i) {
        ++posted;
        loop.Wake();
      }
    });
  }
  for (std::thread& poster : posters) poster.join();
  AwaitAtLeast(seen, 8000);
}

}  // namespace
}  // namespace rowan
