// SPDX-License-Identifier: GPL-2.0-only
// Waiting, with real threads: wake-ups, time-outs, kills, deadlocks, and a random program.
#include <gtest/gtest.h>

#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include "base/clock.h"
#include "base/random.h"
#include "tests/mvcc/lock_fixture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

class LockWaitTest : public LockFixture {
 protected:
  /// Transactions 0..n-1 each hold their own key, then each asks for its neighbour's; the last one
  /// closes the circle. Returns how many were told to give up.
  size_t RunCircle(size_t n, const std::vector<uint64_t>& undo_bytes) {
    std::atomic<size_t> victims{0};
    victim_ = kTxns;
    for (size_t i = 0; i < n; ++i) {
      txns_[i].undo.bytes = undo_bytes[i];
      EXPECT_TRUE(Lock(i, Key(i), kX).ok());
    }
    std::vector<std::thread> threads;
    for (size_t i = 0; i < n; ++i) {
      threads.emplace_back([this, i, n, &victims] {
        const Status status = Lock(i, Key((i + 1) % n), kX);
        if (!status.ok()) {
          EXPECT_TRUE(status.Is(Code::kDeadlock)) << status.message();
          victims.fetch_add(1);
          victim_ = i;
        }
        table_.ReleaseAll(&txns_[i]);
      });
      if (i + 1 < n) AwaitSleeper(i);
    }
    for (std::thread& thread : threads) thread.join();
    return victims;
  }

  std::atomic<size_t> victim_{0};
};

TEST_F(LockWaitTest, AReleaseWakesTheWaiter) {
  ASSERT_TRUE(Lock(0, Key(1), kX).ok());
  std::thread waiter([this] { EXPECT_TRUE(Lock(1, Key(1), kX).ok()); });
  AwaitSleeper(1);
  table_.ReleaseAll(&txns_[0]);
  waiter.join();
  EXPECT_EQ(Granted(Key(1)), (std::vector<uint64_t>{2}));
  EXPECT_EQ(txns_[1].locks.waiting_for.load(), nullptr);
}

TEST_F(LockWaitTest, TheTimeOutEndsTheWaitAndTheRequest) {
  ASSERT_TRUE(Lock(0, Key(1), kX).ok());
  txns_[1].locks.wait_timeout_s = 1;
  const uint64_t start = MonotonicMicros();
  EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kLockTimeout));
  EXPECT_GE(MonotonicMicros() - start, 990'000u);
  EXPECT_EQ(table_.lock_count(), 1u);
  txns_[1].locks.wait_timeout_s = 0;
  EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kLockTimeout));
}

TEST_F(LockWaitTest, AKillEndsTheWait) {
  ASSERT_TRUE(Lock(0, Key(1), kX).ok());
  std::thread waiter([this] { EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kInterrupted)); });
  AwaitSleeper(1);
  table_.Interrupt(&txns_[1]);
  waiter.join();
  EXPECT_EQ(table_.lock_count(), 1u);
  EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kInterrupted)) << "until the flag is cleared";
}

/// What the hooks were told.
struct Told {
  static inline std::atomic<int> begins{0};
  static inline std::atomic<int> ends{0};
  static inline std::vector<std::pair<void*, void*>> blocked;  // by one thread at a time
};

TEST_F(LockWaitTest, TheHostIsToldOfSleepsAndOfReplicationWorkersThatBlockOthers) {
  table_.SetWaitHooks(
      {.begin = [] { Told::begins.fetch_add(1); },
       .end = [] { Told::ends.fetch_add(1); },
       .worker_blocked = [](void* waiter,
                            void* holder) { Told::blocked.emplace_back(waiter, holder); }});
  int workers[3];
  for (size_t i = 0; i < 3; ++i) table_.SetReplicaWorker(&txns_[i], &workers[i]);
  const auto wait_behind = [this](size_t holder, size_t waiter) {
    Told::blocked.clear();
    ASSERT_TRUE(Lock(holder, Key(1), kS).ok());
    ASSERT_TRUE(Lock(1, Key(1), kS).ok());
    std::thread sleeper([this, waiter] { EXPECT_TRUE(Lock(waiter, Key(1), kX).ok()); });
    while (Told::begins.load() == Told::ends.load()) std::this_thread::yield();
    table_.ReleaseAll(&txns_[holder]);
    table_.ReleaseAll(&txns_[1]);
    sleeper.join();
    EXPECT_EQ(Told::begins.load(), Told::ends.load());
    table_.ReleaseAll(&txns_[waiter]);
  };
  wait_behind(2, 0);
  using Pairs = std::vector<std::pair<void*, void*>>;
  EXPECT_EQ(Told::blocked, (Pairs{{&workers[0], &workers[1]}, {&workers[0], &workers[2]}}));
  wait_behind(3, 0);
  EXPECT_EQ(Told::blocked, (Pairs{{&workers[0], &workers[1]}})) << "3 is an ordinary session";
  wait_behind(2, 3);
  EXPECT_TRUE(Told::blocked.empty());
  table_.SetReplicaWorker(&txns_[1], nullptr);
  wait_behind(2, 0);
  EXPECT_EQ(Told::blocked, (Pairs{{&workers[0], &workers[2]}}));
}

TEST_F(LockWaitTest, EveryCircleHasOneVictimTheSmallestOne) {
  for (size_t n = 2; n <= 20; ++n) {
    SCOPED_TRACE(n);
    std::vector<uint64_t> undo_bytes(n, 1000);
    const size_t smallest = n / 2;
    undo_bytes[smallest] = 10;
    EXPECT_EQ(RunCircle(n, undo_bytes), 1u);
    EXPECT_EQ(victim_.load(), smallest);
    EXPECT_EQ(table_.lock_count(), 0u);
  }
  const Deadlock last = table_.LastDeadlock();
  EXPECT_EQ(last.number, 19u);
  ASSERT_EQ(last.members.size(), 20u);
  for (size_t i = 0; i < last.members.size(); ++i) {
    const Deadlock::Member& member = last.members[i];
    const Deadlock::Member& next = last.members[(i + 1) % last.members.size()];
    EXPECT_EQ(member.victim, member.id == txns_[10].txn_id());
    ASSERT_EQ(next.held.size(), 1u);
    EXPECT_EQ(member.wanted.key_hash, next.held[0].key_hash) << "each waits for the next one";
  }
}

TEST_F(LockWaitTest, LocksCountAsWork) {
  constexpr uint64_t kLocks = 500;
  for (const size_t reader : {0u, 1u}) {
    for (uint64_t key = 100; key < 100 + kLocks; ++key) {
      ASSERT_TRUE(Lock(reader, Key(key), kS).ok());
    }
    std::vector<uint64_t> undo_bytes(2, 0);
    undo_bytes[1 - reader] = 100;  // one small change
    EXPECT_EQ(RunCircle(2, undo_bytes), 1u);
    EXPECT_EQ(victim_.load(), 1 - reader) << "the one that has locked little";
  }
}

TEST_F(LockWaitTest, OnATieTheOneThatClosesTheCircleGivesUp) {
  EXPECT_EQ(RunCircle(5, std::vector<uint64_t>(5, 100)), 1u);
  EXPECT_EQ(victim_.load(), 4u);
}

TEST_F(LockWaitTest, TwoUpgradesAreADeadlock) {
  ASSERT_TRUE(Lock(0, Key(1), kS).ok());
  ASSERT_TRUE(Lock(1, Key(1), kS).ok());
  txns_[0].undo.bytes = 1;
  std::thread first([this] {
    EXPECT_TRUE(Lock(0, Key(1), kX).ok());
    table_.ReleaseAll(&txns_[0]);
  });
  AwaitSleeper(0);
  EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kDeadlock));
  table_.ReleaseAll(&txns_[1]);
  first.join();
}

TEST_F(LockWaitTest, ACircleThroughOneOfManySharedHoldersIsFound) {
  for (size_t i = 0; i < 6; ++i) ASSERT_TRUE(Lock(i, Key(1), kS).ok());
  ASSERT_TRUE(Lock(10, Key(2), kX).ok());
  txns_[10].undo.bytes = 5;
  std::thread writer([this] {
    EXPECT_TRUE(Lock(10, Key(1), kX).ok());
    table_.ReleaseAll(&txns_[10]);
  });
  AwaitSleeper(10);
  EXPECT_TRUE(Lock(2, Key(2), kS).Is(Code::kDeadlock));
  for (size_t i = 0; i < 6; ++i) table_.ReleaseAll(&txns_[i]);
  writer.join();
}

TEST_F(LockWaitTest, ACircleClosedByAnImplicitLockIsFoundInTime) {
  // 1 sleeps on key 1 held by 0; 0 sleeps on key 2, held by 2; then key 2 turns out to be 1's too.
  ASSERT_TRUE(Lock(0, Key(1), kX).ok());
  ASSERT_TRUE(Lock(2, Key(2), kS).ok());
  txns_[1].undo.bytes = 9;
  std::atomic<int> victims{0};
  std::thread one([&] {
    if (Lock(1, Key(1), kX).Is(Code::kDeadlock)) victims.fetch_add(1);
    table_.ReleaseAll(&txns_[1]);
  });
  AwaitSleeper(1);
  std::thread zero([&] {
    if (Lock(0, Key(2), kX).Is(Code::kDeadlock)) victims.fetch_add(1);
    table_.ReleaseAll(&txns_[0]);
  });
  AwaitSleeper(0);
  table_.AddImplicit(&txns_[1], Key(2));
  table_.ReleaseAll(&txns_[2]);
  one.join();
  zero.join();
  EXPECT_EQ(victims.load(), 1);
}

TEST_F(LockWaitTest, WithoutDetectionTheTimeOutDecides) {
  ASSERT_TRUE(Lock(0, Key(1), kX).ok());
  ASSERT_TRUE(Lock(1, Key(2), kX).ok());
  txns_[0].locks.deadlock_detect = txns_[1].locks.deadlock_detect = false;
  txns_[0].locks.wait_timeout_s = 20;
  txns_[1].locks.wait_timeout_s = 1;
  std::thread first([this] {
    EXPECT_TRUE(Lock(0, Key(2), kX).ok());
    table_.ReleaseAll(&txns_[0]);
  });
  AwaitSleeper(0);
  EXPECT_TRUE(Lock(1, Key(1), kX).Is(Code::kLockTimeout));
  table_.ReleaseAll(&txns_[1]);
  first.join();
}

TEST_F(LockWaitTest, OneHotRowServesManyWriters) {
  std::atomic<int> inside{0};
  int counter = 0;  // what the lock protects
  constexpr int kRounds = 200;
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      for (int round = 0; round < kRounds; ++round) {
        ASSERT_TRUE(Lock(i, Key(1), kX).ok());
        ASSERT_EQ(inside.fetch_add(1), 0);
        ++counter;
        if (round % 4 == 0) std::this_thread::yield();
        inside.fetch_sub(1);
        table_.ReleaseAll(&txns_[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(counter, 8 * kRounds);
}

TEST_F(LockWaitTest, RandomProgramsEndAndKeepTheirPromises) {
  constexpr uint64_t kKeys = 12;
  std::array<std::atomic<int>, kKeys> writers{};
  std::array<std::atomic<int>, kKeys> readers{};
  std::atomic<uint64_t> deadlocks{0};
  const uint64_t seed = TestSeed();
  std::vector<std::thread> threads;
  for (size_t i = 0; i < 8; ++i) {
    threads.emplace_back([&, i] {
      Random random(seed + i);
      for (int round = 0; round < 300; ++round) {
        std::array<int, kKeys> held{};  // 1 = shared, 2 = exclusive
        txns_[i].undo.bytes = random.Below(100);
        for (uint64_t steps = random.Between(1, 4); steps > 0; --steps) {
          const uint64_t key = random.Below(kKeys);
          const bool exclusive = random.OneIn(2);
          const Status status = Lock(i, Key(key), exclusive ? kX : kS);
          if (!status.ok()) {
            ASSERT_TRUE(status.Is(Code::kDeadlock)) << status.message();
            deadlocks.fetch_add(1);
            break;
          }
          if (exclusive && held[key] < 2) {
            ASSERT_EQ(writers[key].fetch_add(1), 0);
            ASSERT_EQ(readers[key].load(), held[key]);
            if (held[key] == 1) readers[key].fetch_sub(1);
            held[key] = 2;
          } else if (!exclusive && held[key] == 0) {
            readers[key].fetch_add(1);
            ASSERT_EQ(writers[key].load(), 0);
            held[key] = 1;
          }
          if (random.OneIn(3)) std::this_thread::yield();
        }
        for (uint64_t key = 0; key < kKeys; ++key) {
          if (held[key] == 1) readers[key].fetch_sub(1);
          if (held[key] == 2) writers[key].fetch_sub(1);
        }
        table_.ReleaseAll(&txns_[i]);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(table_.lock_count(), 0u);
  EXPECT_TRUE(table_.Check().ok());
}

}  // namespace
}  // namespace rowan
