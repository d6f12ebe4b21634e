// SPDX-License-Identifier: GPL-2.0-only
// Appending, waiting, admission and failure of one log.
#include "wal/log.h"

#include <gtest/gtest.h>

#include <atomic>
#include <cerrno>
#include <chrono>
#include <thread>
#include <vector>

#include "tests/support/fault_file_system.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"
#include "wal/log_file_header.h"
#include "wal/log_writer.h"

namespace rowan {
namespace {

class LogTest : public ::testing::Test {
 protected:
  LogTest() : world(&files, "log") {}

  void ExpectNumbers(uint64_t first, uint64_t behind_last) {
    ASSERT_EQ(world.found.size(), behind_last - first);
    for (uint64_t i = 0; i < world.found.size(); ++i) EXPECT_EQ(world.found[i].number, first + i);
  }

  FaultFileSystem files{1};
  LogFixture world;
};

TEST_F(LogTest, ANewLogStartsAtTheFirstLsn) {
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(world.log->tail(), Log::kFirstLsn);
  EXPECT_EQ(world.log->durable(), Log::kFirstLsn);
  EXPECT_EQ(world.log->checkpoint(), Log::kFirstLsn);
  EXPECT_TRUE(world.log->WaitDurable(Log::kFirstLsn).ok());
  EXPECT_TRUE(world.log->Close().ok());
}

TEST_F(LogTest, WhatIsDurableSurvivesAPowerLoss) {
  ASSERT_TRUE(world.Start().ok());
  for (uint64_t number = 1; number <= 50; ++number) {
    const Lsn end = world.Append(number);
    EXPECT_EQ(world.log->tail(), end);
    ASSERT_TRUE(world.log->WaitDurable(end).ok());
    EXPECT_EQ(world.log->durable(), end);
    EXPECT_EQ(world.log->written(), end);
  }
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 5);
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(1, 51);
}

TEST_F(LogTest, WhatIsOnlyWrittenSurvivesTheProcessAndNotThePower) {
  ASSERT_TRUE(world.Start().ok());
  const Lsn end = world.Append(1);
  ASSERT_TRUE(world.log->WaitCommitted(end, Durability::kWrite).ok());
  EXPECT_GE(world.log->written(), end);
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(1, 2);
  // Opening made it durable.
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 5);
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(1, 2);
}

TEST_F(LogTest, TheBackgroundFlushesWithoutBeingAsked) {
  ASSERT_TRUE(world.Start().ok());
  const Lsn end = world.Append(1);
  ASSERT_TRUE(world.log->WaitCommitted(end, Durability::kBackground).ok());
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  while (world.log->durable() < end && std::chrono::steady_clock::now() < give_up) {
    std::this_thread::yield();
  }
  EXPECT_GE(world.log->durable(), end);
}

TEST_F(LogTest, CloseMakesEverythingDurable) {
  ASSERT_TRUE(world.Start().ok());
  for (uint64_t number = 1; number <= 10; ++number) world.Append(number);
  ASSERT_TRUE(world.log->Close().ok());
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 5);
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(1, 11);
}

TEST_F(LogTest, BlocksHoldWhatWasAppendedAndThenZeros) {
  ASSERT_TRUE(world.Start().ok());
  const Lsn first = world.log->tail();
  std::vector<std::byte> appended;
  // In one block, across blocks, and small ones after one that filled several.
  const size_t sizes[] = {10, 20, 3000, 3000, 20, 20000, 10, 1, 9000, 4000, 10};
  for (uint64_t number = 1; number <= std::size(sizes); ++number) {
    const Lsn start = world.log->tail();
    const Lsn end = world.Append(number, sizes[number - 1]);
    ASSERT_TRUE(world.log->WaitDurable(end).ok());
    GroupBuilder group;
    FillGroup(&group, number, sizes[number - 1]);
    Result<std::unique_ptr<File>> file = files.Open(world.PathOf(first), {.read_only = true});
    ASSERT_TRUE(file.ok());
    ASSERT_EQ(world.PathOf(first), world.PathOf(end));
    std::vector<std::byte> found(LogBlockEnd(end) - first);
    ASSERT_TRUE((*file)->Read(world.OffsetOf(first), found).ok());
    const Bytes before = Bytes(found).first(appended.size());
    EXPECT_TRUE(EqualBytes(before, appended)) << number;
    const Bytes records = Bytes(found).subspan(appended.size(), end - start);
    EXPECT_TRUE(
        EqualBytes(records.subspan(kGroupHeaderBytes), group.bytes().subspan(kGroupHeaderBytes)))
        << number;
    EXPECT_TRUE(IsAllZero(Bytes(found).subspan(end - first))) << number;
    appended.insert(appended.end(), records.begin(), records.end());
  }
}

TEST_F(LogTest, TheRingAndTheFilesWrap) {
  ASSERT_TRUE(world.Start().ok());
  uint64_t number = 0;
  Lsn kept;
  // Ten times the capacity: every file is recycled, the ring wraps 160 times.
  while (world.log->tail().value() < 10 * world.log->capacity_bytes()) {
    ++number;
    const Lsn end = world.Append(number, number % 3000);
    ASSERT_NE(end, kNoLsn);
    if (number % 50 != 7) continue;
    kept = end;
    ASSERT_TRUE(world.log->WaitDurable(end).ok());
    ASSERT_TRUE(world.Checkpoint(end).ok());
  }
  ASSERT_TRUE(world.log->WaitDurable(world.log->tail()).ok());
  const uint64_t kept_number = (number - 7) / 50 * 50 + 7;
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 5);
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(kept_number + 1, number + 1);
  ASSERT_FALSE(world.found.empty());
  EXPECT_EQ(world.found.front().start, kept);
  const auto names = files.List("log");
  ASSERT_TRUE(names.ok());
  size_t log_files = 0;
  for (const std::string& name : names.value()) log_files += ParseLogFileName(name).has_value();
  EXPECT_LE(log_files, world.log->capacity_bytes() / 65536 + 1);
}

TEST_F(LogTest, AFullLogMakesWritersWaitForTheCheckpoint) {
  ASSERT_TRUE(world.Start().ok());
  std::atomic<int> pressure{0};
  world.log->SetPressureCallback([&] { ++pressure; });
  std::atomic<uint64_t> appended{0};
  std::thread writer([&] {
    while (world.log->tail().value() < 3 * world.log->capacity_bytes()) {
      if (world.Append(++appended, 900) == kNoLsn) return;
    }
  });
  while (world.log->tail().value() < 3 * world.log->capacity_bytes()) {
    const uint64_t room = world.log->checkpoint().value() + world.log->capacity_bytes();
    ASSERT_LE(world.log->tail().value(), room);
    if (pressure.exchange(0) == 0) {
      std::this_thread::yield();
      continue;
    }
    const Lsn lsn = world.log->tail();
    ASSERT_TRUE(world.log->WaitDurable(lsn).ok());
    ASSERT_TRUE(world.Checkpoint(lsn).ok());
  }
  writer.join();
  world.log->SetPressureCallback({});
  EXPECT_GT(appended.load(), 3000u);
}

TEST_F(LogTest, ReservationsAreHonouredUntilReleased) {
  ASSERT_TRUE(world.Start().ok());
  EXPECT_TRUE(world.log->ReserveOrWait(1u << 30).Is(Code::kTooBig));
  // The ring has 64 KiB: two of these do not fit side by side.
  constexpr uint32_t kBytes = 40000;
  ASSERT_TRUE(world.log->ReserveOrWait(kBytes).ok());
  std::atomic<bool> second{false};
  std::thread waiter([&] {
    EXPECT_TRUE(world.log->ReserveOrWait(kBytes).ok());
    second = true;
    world.log->Release(kBytes);
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(second.load());
    std::this_thread::yield();
  }
  world.log->Release(kBytes);
  waiter.join();
  EXPECT_TRUE(second.load());
}

TEST_F(LogTest, ReservationsMakeTheLogDurableWhenTheRingIsFull) {
  ASSERT_TRUE(world.Start().ok());
  for (uint64_t number = 1; number <= 60; ++number) {
    ASSERT_NE(world.Append(number, 10000), kNoLsn);  // nobody commits
  }
  EXPECT_GT(world.log->durable(), Log::kFirstLsn);
}

TEST_F(LogTest, AppendingBeyondAReservationStillWorks) {
  ASSERT_TRUE(world.Start().ok());
  GroupBuilder group;
  Lsn end;
  for (uint64_t number = 1; number <= 300; ++number) {
    FillGroup(&group, number, 10000);
    end = world.log->Append(&group);
  }
  ASSERT_TRUE(world.log->WaitDurable(end).ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ExpectNumbers(1, 301);
}

TEST_F(LogTest, CapacityChangesWhileRunning) {
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(world.log->capacity_bytes(), uint64_t{1} << 20);
  EXPECT_TRUE(world.log->SetCapacity(1000).Is(Code::kInvalidArgument));
  EXPECT_TRUE(world.log->SetCapacity(uint64_t{1} << 60).Is(Code::kInvalidArgument));
  ASSERT_TRUE(world.log->SetCapacity((uint64_t{4} << 20) - 1).ok());
  EXPECT_EQ(world.log->capacity_bytes(), (uint64_t{4} << 20) - 1);
  uint64_t number = 0;
  // Fits only because of the new capacity: no checkpoint is taken.
  while (world.log->tail().value() < (uint64_t{3} << 20)) {
    ASSERT_NE(world.Append(++number, 5000), kNoLsn);
  }
  ASSERT_TRUE(world.log->SetCapacity(uint64_t{1} << 20).ok());
  std::atomic<bool> done{false};
  std::thread writer([&] {
    EXPECT_NE(world.Append(number + 1, 5000), kNoLsn);
    done = true;
  });
  for (int i = 0; i < 100; ++i) {
    EXPECT_FALSE(done.load());
    std::this_thread::yield();
  }
  const Lsn lsn = world.log->tail();
  ASSERT_TRUE(world.log->WaitDurable(lsn).ok());
  ASSERT_TRUE(world.Checkpoint(lsn).ok());
  writer.join();
  EXPECT_TRUE(world.log->Close().ok());
}

TEST_F(LogTest, AFailedSyncStopsTheLogForGood) {
  ASSERT_TRUE(world.Start().ok());
  const Lsn first = world.Append(1);
  ASSERT_TRUE(world.log->WaitDurable(first).ok());
  files.SetSyncDelayMicros(2000);
  files.Inject({.call = FileCall::kSync, .path_part = "redo_0"});
  std::vector<std::thread> committers;
  std::atomic<int> refused{0};
  for (uint64_t i = 0; i < 8; ++i) {
    committers.emplace_back([&, i] {
      const Lsn end = world.Append(100 + i);
      const Status status = end == kNoLsn ? Status(Code::kStopped) : world.log->WaitDurable(end);
      EXPECT_TRUE(status.Is(Code::kStopped)) << status.message();
      ++refused;
    });
  }
  for (std::thread& committer : committers) committer.join();
  EXPECT_EQ(refused.load(), 8);
  EXPECT_TRUE(world.log->stopped());
  EXPECT_EQ(world.log->durable(), first);
  EXPECT_TRUE(world.log->ReserveOrWait(100).Is(Code::kStopped));
  GroupBuilder group;
  FillGroup(&group, 5);
  const Lsn nowhere = world.log->Append(&group);
  EXPECT_TRUE(world.log->WaitDurable(nowhere).Is(Code::kStopped));
  EXPECT_TRUE(world.log->WaitCommitted(nowhere, Durability::kWrite).Is(Code::kStopped));
  EXPECT_TRUE(world.log->SetSyncMethod(LogSyncMethod::kFsync).Is(Code::kStopped));
  world.log->Stop("again");
  EXPECT_TRUE(world.log->Close().Is(Code::kStopped));
}

TEST_F(LogTest, StopFromAboveWakesEverybody) {
  ASSERT_TRUE(world.Start().ok());
  ASSERT_TRUE(world.log->ReserveOrWait(40000).ok());
  std::thread waiter([&] { EXPECT_TRUE(world.log->ReserveOrWait(40000).Is(Code::kStopped)); });
  std::this_thread::yield();
  world.log->Stop("a data file failed");
  waiter.join();
  EXPECT_TRUE(world.log->stopped());
}

TEST_F(LogTest, AFullDiskMakesWritersWaitForOldFiles) {
  ASSERT_TRUE(world.Start().ok());
  files.Inject({.call = FileCall::kWrite,
                .path_part = "redo_prepare",
                .lasting = true,
                .code = Code::kNoSpace});
  std::atomic<bool> stop{false};
  std::thread cleaner([&] {
    while (!stop) {
      const Lsn lsn = world.log->durable();
      const bool moved = lsn > world.log->checkpoint();
      EXPECT_TRUE(!moved || world.Checkpoint(lsn).ok());
      std::this_thread::yield();
    }
  });
  uint64_t number = 0;
  while (world.log->tail().value() < (uint64_t{2} << 20)) {
    ASSERT_NE(world.Append(++number, 3000), kNoLsn);
  }
  stop = true;
  cleaner.join();
  EXPECT_FALSE(world.log->stopped());
}

TEST_F(LogTest, AShortageOfDescriptorsIsWaitedFor) {
  ASSERT_TRUE(world.Start().ok());
  uint64_t number = 0;
  const auto fill = [&](uint64_t until) {
    while (world.log->tail().value() < until) {
      const Lsn lsn = world.Append(++number, 3000);
      ASSERT_NE(lsn, kNoLsn);
      ASSERT_TRUE(world.log->WaitDurable(lsn).ok());
      ASSERT_TRUE(world.Checkpoint(lsn).ok());
    }
  };
  for (const int error : {EMFILE, ENFILE, ENOMEM, EAGAIN}) {
    for (int times = 0; times < 2; ++times) {
      files.Inject({.call = FileCall::kOpen, .path_part = "redo_", .error = error});
    }
  }
  fill(uint64_t{1} << 20);
  EXPECT_FALSE(world.log->stopped());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
}

TEST(LogWriterTest, OpensNoFileThatWasOpenedAhead) {
  constexpr uint64_t kFileBytes = uint64_t{64} << 10;
  for (const LogSyncMethod method : {LogSyncMethod::kFdatasync, LogSyncMethod::kDsync}) {
    FaultFileSystem files(TestSeed());
    LogFileSet set({.file_system = &files, .folder = "log", .capacity_bytes = 16 * kFileBytes});
    ASSERT_TRUE(set.Create(Log::kFirstLsn).ok());
    LogBuffer buffer(uint64_t{1} << 20, Log::kFirstLsn, 1);
    std::string reason;
    LogWriter writer(&set, &buffer, Log::kFirstLsn,
                     MakeSyncStrategy(&files, method, &reason).value());
    const std::atomic<Lsn> durable{kNoLsn};
    GroupBuilder group;
    const auto append_until = [&](uint64_t end) {
      while (buffer.tail().value() < end) {
        FillGroup(&group, 1, 3000);
        group.Finish();
        ASSERT_NE(buffer.TryAppend(&group, durable), kNoLsn);
      }
    };
    append_until(kFileBytes / 2);
    ASSERT_TRUE(writer.MakeDurable().ok());
    ASSERT_TRUE(writer.WriteUpTo(buffer.tail()).ok());
    ASSERT_TRUE(writer.OpenAhead().ok());
    files.Inject({.call = FileCall::kOpen, .lasting = true});
    append_until(kFileBytes + kFileBytes / 2);
    EXPECT_TRUE(writer.MakeDurable().ok());
    EXPECT_TRUE(writer.OpenAhead().ok()) << "there is no third file yet";
  }
}

TEST_F(LogTest, AStartOnAFullDiskRecyclesAnOldFile) {
  ASSERT_TRUE(world.Start().ok());
  const uint64_t file_bytes = world.control->data().log_file_bytes;
  uint64_t number = 0;
  while (world.log->tail().value() < 3 * file_bytes + file_bytes / 2) {
    ASSERT_TRUE(world.log->WaitDurable(world.Append(++number, 3000)).ok());
  }
  const Lsn tail = world.log->tail();
  world.Vanish();
  ASSERT_TRUE(world.OpenControl().ok());
  // The checkpoint came just before the process died, and the disk was full: no file behind the
  // one in use, old ones in front of it.
  ASSERT_TRUE(world.control->Update([&](ControlData& data) { data.checkpoint_lsn = tail; }).ok());
  for (uint64_t behind = 4; files.Exists(world.LogPath(behind)).value(); ++behind) {
    ASSERT_TRUE(files.Remove(world.LogPath(behind)).ok());
  }
  world.control.reset();
  files.Inject({.call = FileCall::kWrite,
                .path_part = "redo_prepare",
                .lasting = true,
                .code = Code::kNoSpace});
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(world.end, tail);
  EXPECT_FALSE(files.Exists(world.LogPath(0)).value());
  EXPECT_TRUE(files.Exists(world.LogPath(4)).value());
  while (world.log->tail().value() < 4 * file_bytes + 100) {
    ASSERT_TRUE(world.log->WaitDurable(world.Append(++number, 3000)).ok());
  }
  ASSERT_TRUE(world.log->Close().ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  EXPECT_GT(world.found.size(), 0u);
}

TEST_F(LogTest, AFileThatCannotBePreparedStopsTheLog) {
  // All but the two files that the start makes: later would be too late for some of them.
  files.Inject(
      {.call = FileCall::kRename, .path_part = "redo_prepare", .nth_call = 3, .lasting = true});
  ASSERT_TRUE(world.Start().ok());
  uint64_t number = 0;
  while (world.Append(++number, 3000) != kNoLsn) {
    ASSERT_LT(number, 10000u);
  }
  EXPECT_TRUE(world.log->stopped());
}

TEST_F(LogTest, BadOptionsAreRefused) {
  world.options.buffer_bytes = 100000;
  EXPECT_TRUE(world.Start().Is(Code::kInvalidArgument));
  world.options.buffer_bytes = 65536;
  world.options.capacity_bytes = 65536;
  EXPECT_TRUE(world.Start().Is(Code::kInvalidArgument));
}

}  // namespace
}  // namespace rowan
