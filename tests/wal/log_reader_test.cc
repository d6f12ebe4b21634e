// SPDX-License-Identifier: GPL-2.0-only
// Where the log ends, and where it is damaged.
#include "wal/log_reader.h"

#include <gtest/gtest.h>

#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/wal/log_fixture.h"

namespace rowan {
namespace {

class LogReaderTest : public ::testing::Test {
 protected:
  LogReaderTest() : world(&files, "log") {}

  /// Appends `count` groups, each durable before the next.
  void Commit(uint64_t count, size_t body_bytes = 100) {
    for (uint64_t i = 0; i < count; ++i) {
      ASSERT_TRUE(world.log->WaitDurable(world.Append(++last_number, body_bytes)).ok());
    }
  }
  void AppendOnly(uint64_t count, size_t body_bytes = 100) {
    for (uint64_t i = 0; i < count; ++i) world.Append(++last_number, body_bytes);
  }
  /// Without opening the log.
  Status ReadAgain() {
    world.Vanish();
    world.found.clear();
    const Status status = world.OpenControl();
    return status.ok() ? world.Read() : status;
  }
  void Flip(Lsn lsn) { ASSERT_TRUE(files.FlipBit(world.PathOf(lsn), world.OffsetOf(lsn), 2)); }

  FaultFileSystem files{1};
  LogFixture world;
  uint64_t last_number = 0;
};

TEST_F(LogReaderTest, TheFileBeforeTheFirstGroupNeedNotBeThere) {
  ASSERT_TRUE(world.Start().ok());
  const uint64_t file_bytes = world.control->data().log_file_bytes;
  const auto left = [&] { return file_bytes - world.log->tail().value() % file_bytes; };
  const Lsn before = world.log->tail();
  Commit(1, 1000);
  const uint64_t beside_body = world.log->tail() - before - 1000;
  while (left() > 8000) Commit(1, 1000);
  Commit(1, left() - beside_body);
  const Lsn edge = world.log->tail();
  ASSERT_EQ(edge.value() % file_bytes, 0U);
  Commit(3);
  ASSERT_TRUE(world.Checkpoint(edge).ok());
  const std::string path = world.PathOf(edge - 1);
  world.Vanish();
  files.Remove(path).Ignore();  // recycled, perhaps
  const Status read = ReadAgain();
  EXPECT_TRUE(read.ok()) << read.message();
  EXPECT_EQ(world.found.size(), 3U);
}

TEST_F(LogReaderTest, LostWritesEndTheLog) {
  ASSERT_TRUE(world.Start().ok());
  Commit(5);
  const Lsn durable = world.log->durable();
  AppendOnly(5);
  ASSERT_TRUE(world.log->WaitWritten(world.log->tail()).ok());
  world.Vanish();
  files.Crash({.keep = CrashPlan::Keep::kNothing}, 3);
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(world.found.size(), 5u);
  EXPECT_EQ(world.end, durable);
}

TEST_F(LogReaderTest, TornAndReorderedWritesAreATailNotDamage) {
  uint64_t shorter = 0;
  for (uint64_t seed = 0; seed < 150; ++seed) {
    FaultFileSystem disk(seed);
    LogFixture torn(&disk, "log");
    ASSERT_TRUE(torn.Start().ok());
    uint64_t number = 0;
    for (int i = 0; i < 3; ++i) {
      ASSERT_TRUE(torn.log->WaitDurable(torn.Append(++number)).ok());
    }
    // Several unsynced writes of several blocks: any of their units may be missing.
    for (int i = 0; i < 12; ++i) {
      ASSERT_TRUE(torn.log->WaitWritten(torn.Append(++number, 2000)).ok());
    }
    torn.Vanish();
    disk.Crash({.keep = CrashPlan::Keep::kSubset, .keep_percent = 70}, seed);
    SCOPED_TRACE(disk.Describe());
    ASSERT_TRUE(torn.Start().ok());
    ASSERT_GE(torn.found.size(), 3u);
    for (size_t i = 0; i < torn.found.size(); ++i) EXPECT_EQ(torn.found[i].number, i + 1);
    shorter += torn.found.size() < number ? 1 : 0;
    // The log goes on where it was cut, over what the torn tail left.
    const uint64_t kept = torn.found.size();
    ASSERT_TRUE(torn.log->WaitDurable(torn.Append(500, seed * 7)).ok());
    torn.Vanish();
    disk.Crash({.keep = CrashPlan::Keep::kNothing}, seed);
    ASSERT_TRUE(torn.Start().ok());
    ASSERT_EQ(torn.found.size(), kept + 1);
    EXPECT_EQ(torn.found.back().number, 500u);
  }
  EXPECT_GT(shorter, 75u);
}

TEST_F(LogReaderTest, ABitFlippedBelowTheDurableMarkIsDamage) {
  ASSERT_TRUE(world.Start().ok());
  Commit(20);
  ASSERT_TRUE(ReadAgain().ok());
  const auto groups = world.found;
  ASSERT_EQ(groups.size(), 20u);
  for (size_t i = 0; i + 2 < groups.size(); ++i) {
    for (const uint64_t offset : {0, 4, 8, 12, 16, 60}) {
      const Lsn lsn(groups[i].start.value() + offset);
      Flip(lsn);
      const Status status = ReadAgain();
      EXPECT_TRUE(status.Is(Code::kCorrupt)) << "group " << i << " offset " << offset;
      EXPECT_EQ(world.found.size(), i);
      EXPECT_EQ(world.end, groups[i].start);
      Flip(lsn);
    }
  }
  EXPECT_TRUE(ReadAgain().ok());
}

TEST_F(LogReaderTest, DamageToTheLastGroupLooksLikeATail) {
  ASSERT_TRUE(world.Start().ok());
  Commit(20);
  ASSERT_TRUE(ReadAgain().ok());
  const NumberedGroup last = world.found.back();
  Flip(Lsn(last.start.value() + 30));
  EXPECT_TRUE(ReadAgain().ok());
  EXPECT_EQ(world.end, last.start);
}

TEST_F(LogReaderTest, AnIdleLogProtectsItsLastGroupToo) {
  ASSERT_TRUE(world.Start().ok());
  Commit(19);
  const Lsn tail = world.Append(++last_number);
  ASSERT_TRUE(world.log->WaitDurable(tail).ok());
  EXPECT_TRUE(Await([&] { return world.log->durable() > tail; }));
  ASSERT_TRUE(ReadAgain().ok());
  ASSERT_EQ(world.found.size(), 20u);
  EXPECT_EQ(world.end.value(), tail.value() + kGroupHeaderBytes);
  Flip(Lsn(world.found.back().start.value() + 30));
  EXPECT_TRUE(ReadAgain().Is(Code::kCorrupt));
}

TEST_F(LogReaderTest, DamageAcrossFilesIsNoticed) {
  ASSERT_TRUE(world.Start().ok());
  Commit(60, 5000);  // about five files of 64 KiB
  ASSERT_TRUE(ReadAgain().ok());
  const auto groups = world.found;
  ASSERT_EQ(groups.size(), 60u);
  const uint64_t file_bytes = world.control->data().log_file_bytes;
  ASSERT_GT(groups.back().end.value(), 4 * file_bytes);
  // A header of a file in the middle, then the whole file.
  ASSERT_TRUE(files.FlipBit(world.LogPath(2), 33, 0));
  EXPECT_TRUE(ReadAgain().Is(Code::kCorrupt));
  ASSERT_TRUE(files.FlipBit(world.LogPath(2), 33, 0));
  EXPECT_TRUE(ReadAgain().ok());
  ASSERT_TRUE(files.Remove(world.LogPath(2)).ok());
  EXPECT_TRUE(ReadAgain().Is(Code::kCorrupt));
  EXPECT_TRUE(world.Start().Is(Code::kCorrupt));
}

TEST_F(LogReaderTest, ADamagedHeaderOfTheLastFileIsDamage) {
  ASSERT_TRUE(world.Start().ok());
  Commit(20, 5000);
  ASSERT_TRUE(ReadAgain().ok());
  // No group behind the file can prove what was in it.
  const uint64_t last = world.end.value() / world.control->data().log_file_bytes;
  ASSERT_GT(last, 0u);
  ASSERT_TRUE(files.FlipBit(world.LogPath(last), 2705, 0));
  EXPECT_TRUE(ReadAgain().Is(Code::kCorrupt));
  ASSERT_TRUE(files.FlipBit(world.LogPath(last), 2705, 0));
  EXPECT_TRUE(ReadAgain().ok());
}

TEST_F(LogReaderTest, AMissingFirstFileIsDamage) {
  ASSERT_TRUE(world.Start().ok());
  Commit(3);
  world.Vanish();
  ASSERT_TRUE(files.Remove(world.LogPath(0)).ok());
  EXPECT_TRUE(world.Start().Is(Code::kCorrupt));
}

TEST_F(LogReaderTest, FilesOfAnotherInstanceAreRefused) {
  ASSERT_TRUE(world.Start().ok());
  Commit(3);
  ASSERT_TRUE(world.control->Update([](ControlData& data) { data.instance_id[3] ^= 1; }).ok());
  EXPECT_TRUE(ReadAgain().Is(Code::kCorrupt));
}

TEST_F(LogReaderTest, BytesOfAnEarlierRunBehindTheCutAreNeverRead) {
  ASSERT_TRUE(world.Start().ok());
  Commit(1);
  // A run appends three groups; the first is lost, the others reach the disk.
  AppendOnly(3, 4096 * 2 - 200);
  ASSERT_TRUE(world.log->WaitWritten(world.log->tail()).ok());
  world.Vanish();
  ASSERT_TRUE(world.OpenControl().ok());
  ASSERT_TRUE(world.Read().ok());
  const auto groups = world.found;
  ASSERT_EQ(groups.size(), 4u);
  Flip(Lsn(groups[1].start.value() + 100));
  ASSERT_TRUE(world.Start().ok());
  ASSERT_EQ(world.found.size(), 1u);
  // The next run appends a group of the very same length: behind it, old bytes follow.
  ASSERT_TRUE(world.log->WaitDurable(world.Append(77, 4096 * 2 - 200)).ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  ASSERT_EQ(world.found.size(), 2u);
  EXPECT_EQ(world.found[1].number, 77u);
  EXPECT_EQ(world.found[1].end, groups[1].end);
}

TEST_F(LogReaderTest, AControlFileFromBeforeTheLastRunIsRefused) {
  ASSERT_TRUE(world.Start().ok());
  Commit(3);
  world.Vanish();
  std::vector<std::byte> older(8192);
  const std::string path = world.folder() + "/rowan.control";
  ASSERT_TRUE(files.Open(path, {}).value()->Read(0, older).ok());
  ASSERT_TRUE(world.Start().ok());
  Commit(2);
  world.Vanish();
  ASSERT_TRUE(files.Open(path, {}).value()->Write(0, older).ok());
  const LogCapture log;
  EXPECT_TRUE(world.Start().Is(Code::kCorrupt));
  EXPECT_EQ(world.found.size(), 3u);
  EXPECT_TRUE(log.Has("The control file is older than the redo log")) << log.Text();
}

TEST_F(LogReaderTest, BytesOfAnEarlierRunAreNotReadFromACheckpointAtABlock) {
  // Groups of exactly one block, so that no padding wipes out the start of the next.
  GroupBuilder probe;
  FillGroup(&probe, 1, 1000);
  const size_t body = 4096 - (probe.size_bytes() - 1000);
  ASSERT_TRUE(world.Start().ok());
  Commit(1, body);
  AppendOnly(3, body);
  ASSERT_TRUE(world.log->WaitWritten(world.log->tail()).ok());
  ASSERT_TRUE(ReadAgain().ok());
  const auto groups = world.found;
  ASSERT_EQ(groups.size(), 4u);
  ASSERT_EQ(groups[2].start.value() % 4096, 0u);
  Flip(Lsn(groups[1].start.value() + 100));
  ASSERT_TRUE(world.Start().ok());
  ASSERT_EQ(world.end, groups[1].start);
  // The next run ends where a whole group of the earlier one starts, and checkpoints there.
  const Lsn tail = world.Append(77, body);
  ASSERT_EQ(tail, groups[2].start);
  ASSERT_TRUE(world.log->WaitDurable(tail).ok());
  ASSERT_TRUE(world.Checkpoint(tail).ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok());
  EXPECT_TRUE(world.found.empty());
  EXPECT_EQ(world.end, tail);
}

TEST_F(LogReaderTest, AnInstanceWhoseLogWasNeverMadeIsEmpty) {
  ASSERT_TRUE(world.OpenControl().ok());
  EXPECT_TRUE(world.Read().ok());
  EXPECT_EQ(world.end, Log::kFirstLsn);
  EXPECT_TRUE(world.found.empty());
}

TEST_F(LogReaderTest, AFailedReadIsNoEnd) {
  ASSERT_TRUE(world.Start().ok());
  Commit(3);
  world.Vanish();
  files.Inject({.call = FileCall::kRead, .path_part = "redo_0", .nth_call = 2});
  EXPECT_TRUE(ReadAgain().Is(Code::kIoError));
}

}  // namespace
}  // namespace rowan
