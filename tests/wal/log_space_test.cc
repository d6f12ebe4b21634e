// SPDX-License-Identifier: GPL-2.0-only
// Admission to the log beside the three limits that it has, and who gets what becomes free.
#include "wal/log_space.h"

#include <gtest/gtest.h>

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"
#include "wal/commit_queue.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"

namespace rowan::log_space_test {
namespace {

constexpr uint64_t kKiB = 1024;
constexpr uint64_t kMiB = kKiB * 1024;
constexpr Lsn kStart = Log::kFirstLsn;

class LogSpaceTest : public testing::Test {
 protected:
  /// Two files of 64 KiB are ready.
  void Make(uint64_t ring_bytes, uint64_t capacity_bytes) {
    ASSERT_TRUE(file_set_.Create(kStart).ok());
    buffer_ = std::make_unique<LogBuffer>(ring_bytes, kStart, 1);
    space_ = std::make_unique<LogSpace>(buffer_.get(), &queue_, &file_set_,
                                        LogSpace::Hooks{[this] {
                                                          ++durable_asked_;
                                                          return durable_status_;
                                                        },
                                                        [this](Lsn end) { files_asked_ = end; }});
    space_->Start(kStart, capacity_bytes);
    space_->SetPressureCallback([this] { ++pressed_; });
  }
  void Append(size_t body_bytes) {
    GroupBuilder group;
    FillGroup(&group, 1, body_bytes);
    group.Finish();
    ASSERT_NE(buffer_->TryAppend(&group, queue_.durable_word()), kNoLsn);
  }
  /// The log is durable up to its end.
  void MakeDurable() {
    ASSERT_EQ(queue_.WaitForLead(), CommitQueue::Outcome::kLead);
    ASSERT_FALSE(queue_.HandOn(buffer_->tail(), CommitQueue::Leader::kSession));
  }
  /// A thread that notes its letter once it has `bytes`, and gives them back.
  std::thread Waiter(char letter, uint32_t bytes) {
    return std::thread([=, this] {
      ASSERT_TRUE(space_->ReserveOrWait(bytes).ok());
      {
        const std::lock_guard lock(mutex_);
        order_ += letter;
      }
      space_->Release(bytes);
    });
  }
  std::string Order() {
    const std::lock_guard lock(mutex_);
    return order_;
  }

  FaultFileSystem files_{TestSeed()};
  LogFileSet file_set_{{.file_system = &files_, .folder = "/log", .capacity_bytes = kMiB}};
  CommitQueue queue_{kStart, [] {}};
  std::unique_ptr<LogBuffer> buffer_;
  std::unique_ptr<LogSpace> space_;
  std::atomic<int> durable_asked_{0};
  std::atomic<Lsn> files_asked_{kNoLsn};
  std::atomic<int> pressed_{0};
  Status durable_status_{Code::kStopped, "asked in vain"};
  std::mutex mutex_;
  std::string order_;
};

TEST_F(LogSpaceTest, TheCapacityAfterTheCheckpointIsALimit) {
  Make(kMiB, 10000);
  EXPECT_TRUE(space_->TryReserve(9000));
  EXPECT_FALSE(space_->TryReserve(1001));
  EXPECT_TRUE(space_->TryReserve(1000)) << "what failed takes nothing";
  EXPECT_FALSE(space_->TryReserve(1));
  space_->SetCapacity(10001);
  EXPECT_TRUE(space_->TryReserve(1));
  space_->Release(10001);
  Append(5000);
  space_->SetCheckpoint(buffer_->tail());
  EXPECT_TRUE(space_->TryReserve(10001));
  space_->SetCheckpoint(kStart);
  EXPECT_EQ(space_->checkpoint(), buffer_->tail()) << "it never goes back";
}

TEST_F(LogSpaceTest, TheReadyFilesAreALimit) {
  Make(kMiB, kMiB);
  const auto room = static_cast<uint32_t>(file_set_.PreparedEnd() - kStart);
  EXPECT_EQ(room, 124 * kKiB);
  EXPECT_TRUE(space_->TryReserve(room));
  EXPECT_FALSE(space_->TryReserve(1));
  ASSERT_TRUE(file_set_.Require(file_set_.PreparedEnd()).ok());
  EXPECT_TRUE(space_->TryReserve(static_cast<uint32_t>(64 * kKiB)));
}

TEST_F(LogSpaceTest, TheRingIsALimitAsLongAsItIsNotDurable) {
  Make(64 * kKiB, kMiB);
  EXPECT_TRUE(space_->TryReserve(static_cast<uint32_t>(64 * kKiB)));
  EXPECT_FALSE(space_->TryReserve(1));
  EXPECT_FALSE(space_->RingIsHalfFull()) << "nothing waits for the disk";
  Append(33 * kKiB);
  EXPECT_TRUE(space_->RingIsHalfFull());
  space_->Release(static_cast<uint32_t>(64 * kKiB));
  EXPECT_FALSE(space_->TryReserve(static_cast<uint32_t>(32 * kKiB)));
  MakeDurable();
  EXPECT_FALSE(space_->RingIsHalfFull());
  EXPECT_TRUE(space_->TryReserve(static_cast<uint32_t>(32 * kKiB)));
}

// So that what is appended under it is counted twice rather than not at all.
TEST_F(LogSpaceTest, AReservationCountsInFullUntilItIsReleased) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(6000));
  Append(3900);
  EXPECT_FALSE(space_->TryReserve(200));
  space_->Release(6000);
  EXPECT_TRUE(space_->TryReserve(6000));
}

TEST_F(LogSpaceTest, WhatCouldNeverFitIsRefusedAtOnce) {
  Make(64 * kKiB, 50000);
  EXPECT_TRUE(space_->ReserveOrWait(50001).Is(Code::kTooBig));
  space_->SetCapacity(kMiB);
  ASSERT_TRUE(space_->TryReserve(5000));
  EXPECT_TRUE(space_->ReserveOrWait(60 * kKiB + 1).Is(Code::kTooBig)) << "a ring less a block";
  space_->Release(5000);
  EXPECT_TRUE(space_->ReserveOrWait(60 * kKiB).ok());
}

TEST_F(LogSpaceTest, AWaiterAsksForWhatItLacks) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(10000));
  std::thread waiter = Waiter('a', 8000);
  EXPECT_TRUE(Await([&] { return pressed_ > 0; })) << "a checkpoint";
  EXPECT_EQ(durable_asked_, 0);
  EXPECT_EQ(files_asked_.load(), kNoLsn);
  space_->SetCapacity(kMiB);
  waiter.join();
  ASSERT_TRUE(space_->TryReserve(static_cast<uint32_t>(110 * kKiB)));
  std::thread other = Waiter('b', 20000);
  EXPECT_TRUE(Await([&] { return files_asked_.load() != kNoLsn; })) << "files";
  EXPECT_GT(files_asked_.load(), file_set_.PreparedEnd());
  ASSERT_TRUE(file_set_.Require(files_asked_.load()).ok());
  space_->RoomFreed();
  other.join();
  EXPECT_EQ(durable_asked_, 0);
}

TEST_F(LogSpaceTest, AFullRingThatCannotBeMadeDurableIsTheWaitersError) {
  Make(64 * kKiB, kMiB);
  Append(40 * kKiB);
  EXPECT_TRUE(space_->ReserveOrWait(30 * kKiB).Is(Code::kStopped));
  EXPECT_EQ(durable_asked_, 1);
  EXPECT_EQ(pressed_, 0);
  MakeDurable();
  EXPECT_TRUE(space_->ReserveOrWait(30 * kKiB).ok()) << "the one that failed waits no more";
}

TEST_F(LogSpaceTest, TheFirstGetsWhatBecomesFreeThoughALaterOneWouldFit) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(4000));
  ASSERT_TRUE(space_->TryReserve(6000));
  std::thread large = Waiter('l', 9000);
  ASSERT_TRUE(Await([&] { return pressed_ > 0; }));  // it is the first
  const uint64_t waits = ReadCounter(Counter::kLogWaits);
  std::thread small = Waiter('s', 2000);
  ASSERT_TRUE(Await([&] { return ReadCounter(Counter::kLogWaits) > waits; }));
  space_->Release(4000);  // enough for the small one, and for one that comes now
  std::thread late = Waiter('t', 2000);
  ASSERT_TRUE(Await([&] { return ReadCounter(Counter::kLogWaits) > waits + 1 || Order() != ""; }));
  const int pressed = pressed_;
  ASSERT_TRUE(Await([&] { return pressed_ > pressed; })) << "the large one has looked again";
  EXPECT_EQ(Order(), "");
  space_->Release(6000);
  large.join();
  small.join();
  late.join();
  EXPECT_EQ(Order().front(), 'l');
}

TEST_F(LogSpaceTest, ACapacityThatIsLoweredEndsAWaitThatHasBecomeVain) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(5000));
  std::thread waiter([&] { EXPECT_TRUE(space_->ReserveOrWait(8000).Is(Code::kTooBig)); });
  ASSERT_TRUE(Await([&] { return pressed_ > 0; }));
  space_->SetCapacity(7000);
  waiter.join();
}

TEST_F(LogSpaceTest, AStopEndsAllWaits) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(10000));
  std::vector<std::thread> waiters;
  const uint64_t waits = ReadCounter(Counter::kLogWaits);
  for (int i = 0; i < 5; ++i) {
    waiters.emplace_back([&] { EXPECT_TRUE(space_->ReserveOrWait(100).Is(Code::kStopped)); });
  }
  ASSERT_TRUE(Await([&] { return ReadCounter(Counter::kLogWaits) == waits + 5; }));
  space_->Stop();
  for (std::thread& waiter : waiters) waiter.join();
  EXPECT_TRUE(space_->ReserveOrWait(1).Is(Code::kStopped));
}

TEST_F(LogSpaceTest, NoCallbackIsMadeOnceItIsRemoved) {
  Make(kMiB, 10000);
  ASSERT_TRUE(space_->TryReserve(10000));
  std::thread waiter = Waiter('a', 100);
  ASSERT_TRUE(Await([&] { return pressed_ > 0; }));
  space_->SetPressureCallback({});
  const int pressed = pressed_;
  space_->Release(10000);
  waiter.join();
  EXPECT_EQ(pressed_, pressed);
}

}  // namespace
}  // namespace rowan::log_space_test
