// SPDX-License-Identifier: GPL-2.0-only
// What a start leaves in the control file before anything is appended, and how the log of an idle
// instance ends.
#include "wal/log_opening.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"

namespace rowan::log_opening_test {
namespace {

constexpr uint64_t kKiB = 1024;

class LogOpeningTest : public testing::Test {
 protected:
  LogOpeningTest() { EXPECT_TRUE(world_.OpenControl().ok()); }
  Result<LogOpening> Open(Lsn end = kNoLsn) {
    return OpenLogFiles(&files_, world_.options, world_.control.get(), end);
  }

  FaultFileSystem files_{TestSeed()};
  LogFixture world_{&files_, "/log"};
};

TEST_F(LogOpeningTest, ANewLogBeginsAtTheFirstLsnWithANewEpoch) {
  const Result<LogOpening> opening = Open();
  ASSERT_TRUE(opening.ok());
  EXPECT_EQ(opening.value().end, Log::kFirstLsn);
  EXPECT_EQ(opening.value().checkpoint, Log::kFirstLsn);
  EXPECT_EQ(opening.value().epoch, 1u);
  EXPECT_EQ(opening.value().strategy->method(), LogSyncMethod::kFdatasync);
  EXPECT_GT(opening.value().files->PreparedEnd(),
            opening.value().files->PlaceOf(Log::kFirstLsn).end)
      << "a second file is ready";
}

TEST_F(LogOpeningTest, EachRunIsInBothSlotsBeforeItsFirstGroup) {
  world_.options.buffer_bytes = 256 * kKiB;
  ASSERT_TRUE(Open().ok());
  const ControlData first = world_.control->data();
  const Lsn end = Log::kFirstLsn + 1000;
  world_.options.buffer_bytes = 64 * kKiB;
  world_.options.capacity_bytes = uint64_t{64} << 20;
  ASSERT_TRUE(Open(end).ok());
  world_.Vanish();
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  for (const uint64_t slot : {0, 1}) {
    const LogCapture quiet;
    ASSERT_TRUE(files_.FlipBit("/log/rowan.control", slot * kControlSlotBytes + 50, 1));
    ASSERT_TRUE(world_.OpenControl().ok());
    const ControlData data = world_.control->data();
    EXPECT_EQ(data.epoch, first.epoch + 1);
    EXPECT_EQ(data.run_epoch, data.epoch);
    EXPECT_EQ(data.run_start_lsn, end);
    EXPECT_EQ(data.log_durable_lsn, end);
    EXPECT_EQ(data.log_buffer_bytes, 256 * kKiB) << "the largest so far";
    EXPECT_EQ(data.log_file_bytes, first.log_file_bytes) << "of the first file of all";
    ASSERT_EQ(data.history.size(), 2u);
    EXPECT_EQ(data.history[0], first.history[0]);
    EXPECT_EQ(data.history[1].begin, end);
    EXPECT_NE(data.history[1].id, data.history[0].id);
    world_.Vanish();
    ASSERT_TRUE(files_.FlipBit("/log/rowan.control", slot * kControlSlotBytes + 50, 1));
  }
}

TEST_F(LogOpeningTest, OptionsOutOfTheirLimitsChangeNothing) {
  const LogOptions good = world_.options;
  const uint64_t before = files_.Digest();
  for (const uint64_t bytes : {uint64_t{0}, 32 * kKiB, 96 * kKiB, uint64_t{128} << 20}) {
    world_.options = good;
    world_.options.buffer_bytes = bytes;
    EXPECT_TRUE(Open().status().Is(Code::kInvalidArgument)) << bytes;
  }
  for (const uint64_t bytes : {uint64_t{0}, 1023 * kKiB, (uint64_t{1} << 40) + 1}) {
    world_.options = good;
    world_.options.capacity_bytes = bytes;
    EXPECT_TRUE(Open().status().Is(Code::kInvalidArgument)) << bytes;
  }
  EXPECT_EQ(files_.Digest(), before);
}

TEST_F(LogOpeningTest, AMethodThatTheFileSystemRefusesIsReplacedWithASentence) {
  ASSERT_TRUE(Open().ok());
  world_.options.sync_method = LogSyncMethod::kDirectDsync;
  // The files that exist are opened once to be made durable, then as the method wants it.
  const uint64_t opens = files_.Calls(FileCall::kOpen);
  ASSERT_TRUE(Open(Log::kFirstLsn).ok());
  const uint64_t last = files_.Calls(FileCall::kOpen) - opens;
  files_.Inject({.call = FileCall::kOpen, .nth_call = last});
  const LogCapture log;
  const Result<LogOpening> opening = Open(Log::kFirstLsn);
  ASSERT_TRUE(opening.ok());
  EXPECT_EQ(opening.value().strategy->method(), LogSyncMethod::kFdatasync);
  EXPECT_TRUE(log.Has("direct_dsync refused")) << log.Text();
}

TEST_F(LogOpeningTest, AFailureToNoteTheRunFailsIt) {
  files_.Inject({.call = FileCall::kSync, .path_part = kControlFileName});
  EXPECT_FALSE(Open().ok());
}

TEST_F(LogOpeningTest, TheLastBlockIsInTheRingAsItWas) {
  ASSERT_TRUE(world_.Start().ok());
  const Lsn end = world_.Append(1, 5000);
  ASSERT_TRUE(world_.log->WaitDurable(end).ok());
  world_.log.reset();
  const Result<LogOpening> opening = Open(end);
  ASSERT_TRUE(opening.ok());
  LogBuffer buffer(64 * kKiB, end, 1);
  ASSERT_TRUE(RestoreLastBlock(opening.value().files.get(), &buffer, end).ok());
  const Lsn start = LogBlockStart(end);
  ASSERT_LT(start, end);
  std::vector<std::byte> found(end - start);
  std::vector<std::byte> written(end - start);
  buffer.CopyOut(start, found);
  const auto file = files_.Open(world_.PathOf(start), {.read_only = true});
  ASSERT_TRUE(file.ok() && file.value()->Read(world_.OffsetOf(start), written).ok());
  EXPECT_EQ(found, written);
  EXPECT_TRUE(
      std::any_of(found.begin(), found.end(), [](std::byte b) { return b != std::byte{}; }));
}

// Without the mark, what is damaged at the end could have been cut off by the power.
TEST_F(LogOpeningTest, AnIdleLogEndsWithAMarkThatTellsDamageFromAnEnd) {
  ASSERT_TRUE(world_.Start().ok());
  const Lsn begin = world_.log->tail();
  const Lsn end = world_.Append(1);
  ASSERT_TRUE(world_.log->WaitDurable(end).ok());
  ASSERT_TRUE(Await([&] { return world_.log->durable() > end; }));
  world_.log.reset();
  std::vector<std::byte> header(kGroupHeaderBytes);
  const auto file = files_.Open(world_.PathOf(end), {.read_only = true});
  ASSERT_TRUE(file.ok() && file.value()->Read(world_.OffsetOf(end), header).ok());
  const GroupHeader mark = LoadGroupHeader(header);
  EXPECT_EQ(mark.record_count, 0u);
  EXPECT_EQ(mark.length, kGroupHeaderBytes);
  EXPECT_EQ(mark.durable_mark, end);
  ASSERT_TRUE(files_.FlipBit(world_.PathOf(begin), world_.OffsetOf(begin) + 40, 2));
  const LogCapture log;
  EXPECT_TRUE(world_.Start().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has(world_.PathOf(begin))) << log.Text();
}

}  // namespace
}  // namespace rowan::log_opening_test
