// SPDX-License-Identifier: GPL-2.0-only
// Threads that are lent: all steps are done once, whatever is free, and nobody waits for a thread.
#include "base/worker_pool.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <new>
#include <thread>
#include <vector>

namespace rowan {
namespace {

Status End() { return Status(Code::kEndOfRange); }

/// Steps with numbers, each of which is to be done once.
class Numbers {
 public:
  explicit Numbers(uint32_t count) : done_(count) {}

  Status Step() {
    const uint32_t number = next_++;
    if (number >= done_.size()) return End();
    ++done_[number];
    return Status::Ok();
  }
  [[nodiscard]] bool AllOnce() const {
    for (const std::atomic<uint32_t>& times : done_) {
      if (times.load() != 1) return false;
    }
    return true;
  }

 private:
  std::atomic<uint32_t> next_{0};
  std::vector<std::atomic<uint32_t>> done_;
};

/// Waits until so many threads are in their first step at once.
class Meeting {
 public:
  explicit Meeting(uint32_t count) : count_(count) {}

  Status Step() {
    ++arrived_;
    while (arrived_.load() < count_) std::this_thread::yield();
    return End();
  }

 private:
  const uint32_t count_;
  std::atomic<uint32_t> arrived_{0};
};

TEST(WorkerPoolTest, HelpersWorkAtTheSameTimeAsTheOwner) {
  WorkerPool pool("test-", 3);
  Meeting meeting(4);
  EXPECT_TRUE(pool.Run(3, [&] { return meeting.Step(); }).ok());
  Meeting again(4);  // those that went back are lent again
  EXPECT_TRUE(pool.Run(3, [&] { return again.Step(); }).ok());
  EXPECT_EQ(pool.steps_of_helpers(), 0U) << "the end is no step";
}

TEST(WorkerPoolTest, NoMoreHelpersThanWantedOrThanThereAre) {
  for (const auto& [threads, wanted] : {std::pair(0U, 4U), {4U, 0U}, {1U, 4U}, {4U, 1U}}) {
    WorkerPool pool("test-", threads);
    std::atomic<uint32_t> at_once{0};
    std::atomic<uint32_t> most{0};
    Numbers numbers(2000);
    const Status status = pool.Run(wanted, [&] {
      const uint32_t now = ++at_once;
      if (now > most.load()) most = now;
      const Status done = numbers.Step();
      --at_once;
      return done;
    });
    EXPECT_TRUE(status.ok());
    EXPECT_TRUE(numbers.AllOnce());
    EXPECT_LE(most.load(), 1 + std::min(threads, wanted));
  }
}

TEST(WorkerPoolTest, TheLimitCanChange) {
  WorkerPool pool("test-", 0);
  pool.SetThreadsMax(2);
  Meeting meeting(3);
  EXPECT_TRUE(pool.Run(2, [&] { return meeting.Step(); }).ok());
  pool.SetThreadsMax(0);
  Numbers numbers(100);
  const std::thread::id owner = std::this_thread::get_id();
  EXPECT_TRUE(pool.Run(2,
                       [&] {
                         EXPECT_EQ(std::this_thread::get_id(), owner);
                         return numbers.Step();
                       })
                  .ok());
  EXPECT_TRUE(numbers.AllOnce());
}

TEST(WorkerPoolTest, TheFirstFailureEndsTheWork) {
  for (int round = 0; round < 100; ++round) {
    WorkerPool pool("test-", 3);
    std::atomic<uint32_t> steps{0};
    const Status status = pool.Run(3, [&] {
      return ++steps == 20 ? Status(Code::kCorrupt, "the twentieth", 20) : Status::Ok();
    });
    EXPECT_TRUE(status.Is(Code::kCorrupt));
    EXPECT_EQ(status.detail(), 20U);
  }
}

TEST(WorkerPoolTest, MemoryThatRunsOutIsAFailure) {
  WorkerPool pool("test-", 1);
  std::atomic<uint32_t> steps{0};
  const Status status = pool.Run(1, [&]() -> Status {
    if (++steps == 5) throw std::bad_alloc();
    return Status::Ok();
  });
  EXPECT_TRUE(status.Is(Code::kOutOfMemory));
}

TEST(WorkerPoolTest, ManyOwnersShareFewThreads) {
  WorkerPool pool("test-", 2);
  std::vector<std::thread> owners;
  for (int owner = 0; owner < 4; ++owner) {
    owners.emplace_back([&] {
      for (int round = 0; round < 200; ++round) {
        Numbers numbers(50);
        EXPECT_TRUE(pool.Run(2, [&] { return numbers.Step(); }).ok());
        EXPECT_TRUE(numbers.AllOnce());
      }
    });
  }
  for (std::thread& owner : owners) owner.join();
}

TEST(WorkerPoolTest, ALongWorkGivesItsHelperToAnotherOwner) {
  WorkerPool pool("test-", 1);
  std::atomic<bool> other_was_helped{false};
  std::atomic<bool> is_helped{false};
  const std::thread::id here = std::this_thread::get_id();
  std::thread other;
  const Status status = pool.Run(1, [&] {
    if (other_was_helped.load()) return End();
    if (std::this_thread::get_id() != here) {
      is_helped = true;
      return Status::Ok();
    }
    if (is_helped.load() && !other.joinable()) {
      other = std::thread([&] {
        const std::thread::id owner = std::this_thread::get_id();
        const Status helped = pool.Run(1, [&] {
          if (std::this_thread::get_id() != owner) other_was_helped = true;
          return other_was_helped.load() ? End() : Status::Ok();
        });
        EXPECT_TRUE(helped.ok());
      });
    }
    return Status::Ok();
  });
  EXPECT_TRUE(status.ok());
  other.join();
  EXPECT_TRUE(other_was_helped.load());
}

}  // namespace
}  // namespace rowan
