// SPDX-License-Identifier: GPL-2.0-only
// Who leads and who waits, thread by thread and with many threads beside each other.
#include "wal/commit_queue.h"

#include <gtest/gtest.h>

#include <atomic>
#include <chrono>
#include <thread>
#include <vector>

#include "wal/durable_signal.h"

namespace rowan {
namespace {

using Outcome = CommitQueue::Outcome;
using Leader = CommitQueue::Leader;

TEST(CommitQueueTest, TheFirstThatNeedsMoreLeadsAndHandsOnToNobody) {
  CommitQueue queue(Lsn(100), [] { ADD_FAILURE() << "nobody asked for the flusher"; });
  EXPECT_EQ(queue.Wait(Lsn(100)), Outcome::kDone);
  ASSERT_EQ(queue.Wait(Lsn(101)), Outcome::kLead);
  EXPECT_FALSE(queue.HandOn(Lsn(150), Leader::kSession));
  EXPECT_EQ(queue.durable(), Lsn(150));
  EXPECT_EQ(queue.Wait(Lsn(150)), Outcome::kDone);
  EXPECT_EQ(queue.WaitForLead(), Outcome::kLead) << "whatever is durable";
  EXPECT_FALSE(queue.HandOn(Lsn(150), Leader::kSession));
}

TEST(CommitQueueTest, TheFlusherGetsWhatItAskedForWhenTheLeaderIsDone) {
  int wakes = 0;
  CommitQueue queue(Lsn(100), [&] { ++wakes; });
  ASSERT_EQ(queue.Wait(Lsn(101)), Outcome::kLead);
  EXPECT_FALSE(queue.TakeHanded());
  EXPECT_FALSE(queue.FlusherLead());
  EXPECT_FALSE(queue.HandOn(Lsn(101), Leader::kSession));
  EXPECT_EQ(wakes, 1);
  EXPECT_TRUE(queue.TakeHanded());
  EXPECT_FALSE(queue.TakeHanded()) << "once";
  EXPECT_FALSE(queue.HandOn(Lsn(102), Leader::kFlusher));
  EXPECT_TRUE(queue.FlusherLead()) << "nobody leads";
  EXPECT_FALSE(queue.HandOn(Lsn(103), Leader::kFlusher));
  EXPECT_EQ(wakes, 1);
}

TEST(CommitQueueTest, NobodyWaitsOrLeadsAfterAStop) {
  CommitQueue queue(Lsn(100), [] {});
  ASSERT_EQ(queue.Wait(Lsn(101)), Outcome::kLead);
  std::atomic<int> stopped{0};
  std::vector<std::thread> waiters;
  for (int i = 0; i < 8; ++i) {
    waiters.emplace_back([&queue, &stopped, i] {
      const Outcome outcome = i % 2 == 0 ? queue.Wait(Lsn(200)) : queue.WaitForLead();
      if (outcome == Outcome::kStopped) ++stopped;
    });
  }
  queue.Stop();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(stopped, 8);
  EXPECT_FALSE(queue.HandOn(Lsn(300), Leader::kSession));
  EXPECT_EQ(queue.Wait(Lsn(1)), Outcome::kStopped);
  EXPECT_FALSE(queue.FlusherLead());
}

/// The bytes of a log that is made durable by setting a number.
struct FakeLog {
  std::atomic<uint64_t> tail{0};
  std::atomic<uint64_t> synced{0};
  std::atomic<int> leaders{0};
  std::atomic<int> wrong{0};
  std::atomic<bool> wake{false};
  CommitQueue queue{Lsn(0), [this] { wake = true; }};

  bool Lead(Leader leader) {
    if (++leaders != 1) ++wrong;
    const uint64_t durable = tail;
    std::this_thread::yield();
    synced = durable;
    --leaders;
    return queue.HandOn(Lsn(durable), leader);
  }
  void Commit() {
    const uint64_t lsn = ++tail;
    const Outcome outcome = queue.Wait(Lsn(lsn));
    if (outcome == Outcome::kLead) Lead(Leader::kSession);
    if (outcome == Outcome::kStopped || synced < lsn) ++wrong;
  }
  void Switch() {
    if (queue.WaitForLead() != Outcome::kLead) ++wrong;
    Lead(Leader::kSession);
  }
};

// 48 committers are more than the queue leaves to a session, so the flusher leads too.
TEST(CommitQueueTest, OneLeadsAtATimeAndNobodyReturnsBeforeItsBytesAreDurable) {
  FakeLog log;
  std::atomic<int> running{48};
  std::vector<std::thread> threads;
  for (int i = 0; i < 48; ++i) {
    threads.emplace_back([&log, &running, i] {
      for (int k = 0; k < 60; ++k) i == 0 ? log.Switch() : log.Commit();
      --running;
    });
  }
  while (running > 0) {
    bool lead = log.wake.exchange(false) && log.queue.TakeHanded();
    while (lead) lead = log.Lead(Leader::kFlusher);
    std::this_thread::yield();
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(log.wrong, 0);
  EXPECT_EQ(log.queue.durable(), Lsn(47 * 60));
}

TEST(DurableSignalTest, AWaiterReturnsWhenWhatItWaitsForIsSo) {
  DurableSignal signal;
  EXPECT_TRUE(signal.WaitFor(std::chrono::nanoseconds(0), [] { return true; }));
  EXPECT_FALSE(signal.WaitFor(std::chrono::nanoseconds(1), [] { return false; }));
  std::atomic<int> value{0};
  std::atomic<int> seen{0};
  std::vector<std::thread> waiters;
  for (int wanted = 1; wanted <= 20; ++wanted) {
    waiters.emplace_back([&, wanted] {
      if (signal.WaitFor(std::chrono::minutes(1), [&] { return value >= wanted; })) ++seen;
    });
  }
  for (int i = 0; i < 20; ++i) {
    ++value;
    signal.Raise();
  }
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_EQ(seen, 20);
}

}  // namespace
}  // namespace rowan
