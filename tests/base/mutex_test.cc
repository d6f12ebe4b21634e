// SPDX-License-Identifier: GPL-2.0-only
#include "base/mutex.h"

#include <atomic>
#include <chrono>
#include <thread>

#include <gtest/gtest.h>

#include "base/latch.h"

namespace rowan {
namespace {

TEST(MutexTest, KeepsThreadsApart) {
  Mutex mutex(LatchRank::kThreadWake);
  int count = 0;
  const auto add = [&] {
    for (int i = 0; i < 10000; ++i) {
      const MutexLock lock(&mutex);
      ++count;
    }
  };
  std::thread other(add);
  add();
  other.join();
  EXPECT_EQ(count, 20000);
}

TEST(MutexTest, ALockCanBeGivenBackMeanwhile) {
  Mutex mutex(LatchRank::kThreadWake);
  MutexLock lock(&mutex);
  const auto is_free = [&mutex] {
    bool free = false;
    std::thread([&] {
      free = mutex.TryLock();
      if (free) mutex.Unlock();
    }).join();
    return free;
  };
  EXPECT_FALSE(is_free());
  lock.Unlock();
  EXPECT_TRUE(is_free());
  lock.Lock();
  EXPECT_FALSE(is_free());
}

TEST(MutexTest, AWaitEndsWithTheNotificationOrTheTime) {
  Mutex mutex(LatchRank::kThreadWake);
  Condition changed;
  bool set = false;
  {
    const MutexLock lock(&mutex);
    EXPECT_FALSE(changed.WaitFor(&mutex, std::chrono::milliseconds(1)) && set);
  }
  std::thread other([&] {
    const MutexLock lock(&mutex);
    set = true;
    changed.NotifyAll();
  });
  {
    const MutexLock lock(&mutex);
    while (!set) changed.Wait(&mutex);
  }
  other.join();
}

TEST(MutexTest, ASharedMutexLetsReadersInTogether) {
  SharedMutex mutex(LatchRank::kSpaceHandles);
  SharedCondition changed;
  std::atomic<int> inside{0};
  const auto meet = [&] {
    const SharedLock lock(&mutex);
    inside.fetch_add(1);
    while (inside.load() < 2) std::this_thread::yield();
  };
  std::thread reader(meet);
  meet();
  reader.join();
  std::thread writer([&] {
    const ExclusiveLock lock(&mutex);
    inside.store(0);
    changed.NotifyAll();
  });
  {
    const ExclusiveLock lock(&mutex);
    while (inside.load() != 0) changed.Wait(&mutex);
  }
  writer.join();
}

#if defined(ROWAN_DCHECK_ENABLED)

TEST(LatchOrderTest, TheEarlierOneMustNotBeWaitedForUnderTheLaterOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mutex early(LatchRank::kLogWriter);
  Mutex late(LatchRank::kLogFiles);
  const MutexLock in_order(&early);
  { const MutexLock lock(&late); }
  EXPECT_DEATH(
      {
        Mutex other(LatchRank::kLogSpace);
        const MutexLock lock(&other);
      },
      "must not wait for kLogSpace, latest held: kLogWriter");
  SharedMutex shared(LatchRank::kSpaceTable);
  EXPECT_DEATH({ const SharedLock lock(&shared); }, "kSpaceTable, latest held: kLogWriter");
  RankedLatch<LatchRank::kLockBucket> latch;
  EXPECT_DEATH({ const ExclusiveLatchGuard guard(&latch); }, "kLockBucket, latest held");
}

TEST(LatchOrderTest, OneOfEachRankAtATime) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mutex one(LatchRank::kLogWriter);
  Mutex other(LatchRank::kLogWriter);
  const MutexLock lock(&one);
  EXPECT_DEATH({ const MutexLock second(&other); }, "kLogWriter, latest held: kLogWriter");
}

TEST(LatchOrderTest, WhatIsTakenWithoutWaitingCountsAsHeld) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mutex early(LatchRank::kLogWriter);
  Mutex late(LatchRank::kLogFiles);
  const MutexLock lock(&late);
  ASSERT_TRUE(early.TryLock());
  early.Unlock();
  EXPECT_DEATH({ const MutexLock out_of_order(&early); }, "latest held: kLogFiles");
}

TEST(LatchOrderTest, AWaitMustNotTakeItsMutexBackUnderALaterOne) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  Mutex early(LatchRank::kLogWriter);
  Mutex late(LatchRank::kLogFiles);
  Condition changed;
  const MutexLock lock(&early);
  const MutexLock kept(&late);
  EXPECT_DEATH((void)changed.WaitFor(&early, std::chrono::milliseconds(1)),
               "must not wait for kLogWriter, latest held: kLogFiles");
}

#endif

}  // namespace
}  // namespace rowan
