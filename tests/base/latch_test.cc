// SPDX-License-Identifier: GPL-2.0-only
#include "base/latch.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "base/clock.h"
#include "base/counters.h"
#include "base/random.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

TEST(LatchTest, SharedHoldersExcludeTheWriter) {
  Latch latch;
  latch.LockShared();
  EXPECT_TRUE(latch.TryLockShared());
  EXPECT_FALSE(latch.TryLockExclusive());
  latch.UnlockShared();
  EXPECT_FALSE(latch.TryLockExclusive());
  latch.UnlockShared();
  EXPECT_TRUE(latch.TryLockExclusive());
  EXPECT_TRUE(latch.IsLockedExclusive());
  EXPECT_FALSE(latch.TryLockShared());
  latch.UnlockExclusive();
}

TEST(LatchTest, OnlyExclusiveReleaseChangesTheVersion) {
  Latch latch;
  Latch::Version version = 99;
  ASSERT_TRUE(latch.TryOptimistic(&version));
  latch.LockShared();
  EXPECT_TRUE(latch.Validate(version));
  latch.UnlockShared();
  EXPECT_TRUE(latch.Validate(version));
  latch.LockExclusive();
  EXPECT_FALSE(latch.Validate(version));
  Latch::Version during;
  EXPECT_FALSE(latch.TryOptimistic(&during));
  latch.UnlockExclusive();
  EXPECT_FALSE(latch.Validate(version));
  EXPECT_EQ(latch.version(), version + 1);
}

TEST(LatchTest, UpgradesSucceedOnlyAtTheSameVersion) {
  Latch latch;
  Latch::Version version;
  ASSERT_TRUE(latch.TryOptimistic(&version));
  ASSERT_TRUE(latch.TryUpgradeFromOptimistic(version));
  EXPECT_FALSE(latch.TryUpgradeFromOptimistic(version));
  latch.UnlockExclusive();
  EXPECT_FALSE(latch.TryUpgradeFromOptimistic(version));
  EXPECT_FALSE(latch.TryShareFromOptimistic(version));
  ASSERT_TRUE(latch.TryOptimistic(&version));
  ASSERT_TRUE(latch.TryShareFromOptimistic(version));
  EXPECT_FALSE(latch.TryUpgradeFromOptimistic(version));
  latch.UnlockShared();
}

TEST(LatchTest, DowngradeKeepsOutWritersAndLetsReadersIn) {
  Latch latch;
  Latch::Version version;
  ASSERT_TRUE(latch.TryOptimistic(&version));
  latch.LockExclusive();
  latch.DowngradeToShared();
  EXPECT_FALSE(latch.Validate(version));
  EXPECT_FALSE(latch.TryLockExclusive());
  EXPECT_TRUE(latch.TryLockShared());
  latch.UnlockShared();
  latch.UnlockShared();
  EXPECT_TRUE(latch.TryLockExclusive());
  latch.UnlockExclusive();
}

/// Waits until another thread sleeps in the parking lot, as the counter tells.
void AwaitParks(uint64_t parks_before, uint64_t wanted, const std::atomic<uint32_t>& arrived) {
  // Parks are counted after waking, so arrival plus a pause is the best that can be observed.
  while (arrived.load() < wanted) std::this_thread::yield();
  std::this_thread::sleep_for(std::chrono::milliseconds(20));
  EXPECT_EQ(ReadCounter(Counter::kLatchParks), parks_before);
}

/// Three readers and three writers ask for a latch that is held. Returns how often one of them
/// slept.
uint64_t ParkSix() {
  Latch latch;
  std::atomic<uint32_t> arrived{0};
  std::atomic<uint32_t> entered{0};
  const uint64_t parks_before = ReadCounter(Counter::kLatchParks);
  latch.LockExclusive();
  std::vector<std::thread> threads;
  for (int i = 0; i < 6; ++i) {
    threads.emplace_back([&, writer = i % 2 == 0] {
      ++arrived;
      if (writer) {
        latch.LockExclusive();
        ++entered;
        latch.UnlockExclusive();
      } else {
        latch.LockShared();
        ++entered;
        latch.UnlockShared();
      }
    });
  }
  AwaitParks(parks_before, 6, arrived);
  EXPECT_EQ(entered.load(), 0u);
  latch.UnlockExclusive();
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(entered.load(), 6u);
  EXPECT_TRUE(latch.TryLockExclusive());
  latch.UnlockExclusive();
  return ReadCounter(Counter::kLatchParks) - parks_before;
}

TEST(LatchTest, ParkedReadersAndWritersAreWokenByTheWriter) {
  // On a busy machine one of them may get to the latch only when it is free again.
  uint64_t parks = 0;
  for (int round = 0; round < 200 && parks < 6; ++round) parks = ParkSix();
  EXPECT_GE(parks, 6u);
}

TEST(LatchTest, DowngradeLetsParkedReadersInAndTheWriterAfterThem) {
  Latch latch;
  std::atomic<uint32_t> arrived{0};
  std::atomic<bool> wrote{false};
  std::atomic<uint32_t> readers_inside{0};
  latch.LockExclusive();
  std::thread writer([&] {
    ++arrived;
    latch.LockExclusive();
    wrote = true;
    latch.UnlockExclusive();
  });
  std::thread reader([&] {
    ++arrived;
    latch.LockShared();
    ++readers_inside;
    latch.UnlockShared();
  });
  AwaitParks(ReadCounter(Counter::kLatchParks), 2, arrived);
  latch.DowngradeToShared();
  // The reader comes in now, or behind the writer if that asked for its turn before.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  EXPECT_FALSE(wrote.load());
  latch.UnlockShared();
  writer.join();
  reader.join();
  EXPECT_TRUE(wrote.load());
}

TEST(LatchTest, DowngradeWakesAParkedReader) {
  Latch latch;
  std::atomic<uint32_t> arrived{0};
  latch.LockExclusive();
  std::thread reader([&] {
    ++arrived;
    latch.LockShared();
    latch.UnlockShared();
  });
  AwaitParks(ReadCounter(Counter::kLatchParks), 1, arrived);
  latch.DowngradeToShared();
  reader.join();
  latch.UnlockShared();
}

/// Shared holds of `hold_us`, one behind the other, until told to stop.
void ReadWithoutPause(Latch* latch, const std::atomic<bool>& stop, int hold_us) {
  while (!stop.load(std::memory_order_relaxed)) {
    latch->LockShared();
    std::this_thread::sleep_for(std::chrono::microseconds(hold_us));
    latch->UnlockShared();
  }
}

/// Until others are found inside.
void AwaitHolders(Latch* latch) {
  while (latch->TryLockExclusive()) {
    latch->UnlockExclusive();
    std::this_thread::yield();
  }
}

TEST(LatchTest, ReadersWithoutPauseLetWritersHaveTheirTurn) {
  Latch latch;
  std::atomic<bool> stop{false};
  std::vector<std::thread> readers;
  for (int i = 0; i < 8; ++i) {
    readers.emplace_back([&] { ReadWithoutPause(&latch, stop, 1000); });
  }
  AwaitHolders(&latch);
  uint64_t longest_nanos = 0;
  for (int turn = 0; turn < 20; ++turn) {
    const uint64_t begin = MonotonicNanos();
    latch.LockExclusive();
    latch.UnlockExclusive();
    longest_nanos = std::max(longest_nanos, MonotonicNanos() - begin);
  }
  stop = true;
  for (std::thread& reader : readers) reader.join();
  // A hold of 1 ms, and a busy machine on top; without turns a writer waits for many seconds.
  EXPECT_LT(longest_nanos, 4'000'000'000u);
}

TEST(LatchTest, WritersWithoutPauseLeaveReadersTheirChance) {
  Latch latch;
  std::atomic<bool> stop{false};
  std::vector<std::thread> writers;
  for (int i = 0; i < 4; ++i) {
    writers.emplace_back([&] {
      while (!stop.load(std::memory_order_relaxed)) {
        latch.LockExclusive();
        latch.UnlockExclusive();
      }
    });
  }
  AwaitHolders(&latch);
  for (int read = 0; read < 200; ++read) {
    latch.LockShared();
    latch.UnlockShared();
  }
  stop = true;
  for (std::thread& writer : writers) writer.join();
}

/// Two numbers that a writer always keeps equal.
struct Pair {
  Latch latch;
  std::atomic<uint64_t> left{0};
  std::atomic<uint64_t> right{0};
};

void MixedWork(std::vector<Pair>& pairs, uint64_t seed, int rounds, std::atomic<uint64_t>* writes) {
  Random random(seed);
  constexpr auto kRelaxed = std::memory_order_relaxed;
  for (int round = 0; round < rounds; ++round) {
    Pair& pair = pairs[random.Below(pairs.size())];
    const uint64_t kind = random.Below(4);
    if (kind == 0) {
      pair.latch.LockExclusive();
      const uint64_t next = pair.left.load(kRelaxed) + 1;
      pair.left.store(next, kRelaxed);
      if (random.OneIn(8)) std::this_thread::yield();
      pair.right.store(next, kRelaxed);
      writes->fetch_add(1);
      if (random.OneIn(4)) {
        pair.latch.DowngradeToShared();
        EXPECT_EQ(pair.left.load(kRelaxed), pair.right.load(kRelaxed));
        pair.latch.UnlockShared();
      } else {
        pair.latch.UnlockExclusive();
      }
    } else if (kind == 1) {
      pair.latch.LockShared();
      const uint64_t left = pair.left.load(kRelaxed);
      if (random.OneIn(8)) std::this_thread::yield();
      EXPECT_EQ(left, pair.right.load(kRelaxed));
      pair.latch.UnlockShared();
    } else {
      Latch::Version version;
      if (!pair.latch.TryOptimistic(&version)) continue;
      const uint64_t left = pair.left.load(kRelaxed);
      const uint64_t right = pair.right.load(kRelaxed);
      if (pair.latch.Validate(version)) {
        EXPECT_EQ(left, right);
      }
    }
  }
}

TEST(LatchTest, ManyThreadsSeeConsistentDataAndLoseNoWrite) {
  constexpr int kThreads = 16;
  constexpr int kRounds = 4000;
  std::vector<Pair> pairs(3);
  std::atomic<uint64_t> writes{0};
  std::vector<std::thread> threads;
  for (int i = 0; i < kThreads; ++i) {
    const uint64_t seed = TestSeed() + static_cast<uint64_t>(i);
    threads.emplace_back([&, seed] { MixedWork(pairs, seed, kRounds, &writes); });
  }
  for (std::thread& thread : threads) thread.join();
  uint64_t sum = 0;
  for (Pair& pair : pairs) {
    sum += pair.left.load();
    EXPECT_TRUE(pair.latch.TryLockExclusive());
    pair.latch.UnlockExclusive();
  }
  EXPECT_EQ(sum, writes.load());
}

TEST(LatchTest, WaitersGiveUpWhenTheTagChangesThoughTheLatchStaysTaken) {
  Latch latch;
  std::atomic<uint64_t> tag{1};
  latch.LockExclusive();
  std::atomic<int> gave_up{0};
  std::atomic<int> started{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 6; ++i) {
    waiters.emplace_back([&, i] {
      ++started;
      const bool got =
          i % 3 == 0 ? latch.LockSharedWhile(tag, 1) : latch.LockExclusiveWhile(tag, 1);
      if (got) {
        // Let in between the holder's release and its return: it sees the tag and leaves.
        EXPECT_EQ(tag.load(), 2u);
        i % 3 == 0 ? latch.UnlockShared() : latch.UnlockExclusive();
      }
      ++gave_up;
    });
  }
  while (started < 6) std::this_thread::yield();
  // Most of them are parked by then; whichever are not must leave all the same.
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  tag.store(2);
  latch.UnlockExclusive();
  latch.LockExclusive();
  for (auto& waiter : waiters) waiter.join();
  EXPECT_EQ(gave_up.load(), 6);
  latch.UnlockExclusive();
}

TEST(LatchTest, WaitersWithARightTagGetTheLatch) {
  Latch latch;
  const std::atomic<uint64_t> tag{1};
  uint64_t sum = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 5000; ++i) {
        ASSERT_TRUE(latch.LockExclusiveWhile(tag, 1));
        ++sum;
        latch.UnlockExclusive();
        ASSERT_TRUE(latch.LockSharedWhile(tag, 1));
        latch.UnlockShared();
      }
    });
  }
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(sum, 20000u);
}

}  // namespace
}  // namespace rowan
