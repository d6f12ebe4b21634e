// SPDX-License-Identifier: GPL-2.0-only
#include "base/parking_lot.h"

#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <vector>

namespace rowan {
namespace {

TEST(ParkingLotTest, DoesNotSleepWhenThePredicateFails) {
  int word = 0;
  EXPECT_FALSE(Park(&word, ParkKind::kShared, [] { return false; }));
}

TEST(ParkingLotTest, UnparkWithoutSleepersReportsThatNobodyRemains) {
  int word = 0;
  int calls = 0;
  UnparkSelected(&word, Unpark::kBoth, [&](bool remain) {
    ++calls;
    EXPECT_FALSE(remain);
  });
  EXPECT_EQ(calls, 1);
}

/// Threads asleep at one address, counted under the bucket mutex.
struct Sleepers {
  int word = 0;
  std::atomic<int> asleep{0};
  std::atomic<int> woken{0};
  std::vector<std::thread> threads;

  void Add(ParkKind kind) {
    const int before = asleep.load();
    threads.emplace_back([this, kind] {
      Park(&word, kind, [this] {
        ++asleep;
        return true;
      });
      ++woken;
    });
    while (asleep.load() == before) std::this_thread::yield();
  }
  /// Returns whether sleepers remain.
  bool Wake(Unpark selection) {
    bool remained = false;
    UnparkSelected(&word, selection, [&](bool remain) { remained = remain; });
    return remained;
  }
  void AwaitWoken(int count) {
    while (woken.load() < count) std::this_thread::yield();
  }
  ~Sleepers() {
    for (std::thread& thread : threads) thread.join();
  }
};

TEST(ParkingLotTest, WakesAllSharedAndOneExclusiveSleeper) {
  Sleepers sleepers;
  sleepers.Add(ParkKind::kExclusive);
  sleepers.Add(ParkKind::kShared);
  sleepers.Add(ParkKind::kExclusive);
  sleepers.Add(ParkKind::kShared);
  EXPECT_TRUE(sleepers.Wake(Unpark::kOneExclusive));
  sleepers.AwaitWoken(1);
  EXPECT_FALSE(sleepers.Wake(Unpark::kBoth));
  sleepers.AwaitWoken(4);
}

TEST(ParkingLotTest, SleepersAtOtherAddressesStayAsleep) {
  // More addresses than buckets, so some share one.
  std::vector<Sleepers> all(300);
  for (Sleepers& sleepers : all) sleepers.Add(ParkKind::kShared);
  for (size_t i = 0; i < all.size(); ++i) {
    EXPECT_FALSE(all[i].Wake(Unpark::kBoth));
    all[i].AwaitWoken(1);
    if (i + 1 < all.size()) {
      EXPECT_EQ(all[i + 1].woken.load(), 0);
    }
  }
}

}  // namespace
}  // namespace rowan
