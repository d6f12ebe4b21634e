// SPDX-License-Identifier: GPL-2.0-only
// Files of different sizes in one log, and readers that hold files back.
#include <gtest/gtest.h>

#include <functional>
#include <optional>
#include <set>
#include <thread>

#include "tests/support/await.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"
#include "wal/log_file_set.h"

namespace rowan::log_files_test {
namespace {

constexpr uint64_t kKiB = uint64_t{1} << 10;
constexpr uint64_t kMiB = uint64_t{1} << 20;
constexpr uint64_t kGiB = uint64_t{1} << 30;

TEST(LogFileBytesTest, TheNumberOfFilesIsBoundedForEveryCapacity) {
  for (uint64_t capacity = kLogCapacityLimits.least; capacity <= kLogCapacityLimits.greatest;
       capacity *= 2) {
    SCOPED_TRACE(capacity);
    uint64_t ready = 0;
    uint64_t files = 0;
    for (; ready < capacity; ++files) ready += LogFileBytes(capacity, ready);
    EXPECT_GE(files, 16u);
    EXPECT_LE(files, 160u);
    EXPECT_LE(LogFileBytes(capacity, 0), 64 * kMiB) << "what a new log takes from the disk";
  }
  EXPECT_EQ(LogFileBytes(kMiB, 0), 64 * kKiB);
  EXPECT_EQ(LogFileBytes(256 * kMiB, 256 * kMiB), 16 * kMiB);
  EXPECT_EQ(LogFileBytes(1024 * kGiB, 1024 * kGiB), 16 * kGiB);
}

class LogFilesTest : public ::testing::Test {
 protected:
  LogFilesTest() { world.options.buffer_bytes = 256 * kKiB; }

  /// Appends about `bytes` in groups of 3 KB with checkpoints close behind.
  void Fill(uint64_t bytes) {
    const uint64_t end = world.log->tail().value() + bytes;
    while (world.log->tail().value() < end) {
      const Lsn lsn = world.Append(++number, 3000);
      ASSERT_NE(lsn, kNoLsn);
      if (number % 16 != 0) continue;
      ASSERT_TRUE(world.log->WaitDurable(lsn).ok());
      ASSERT_TRUE(world.Checkpoint(lsn).ok());
    }
  }
  /// The power goes; everything acknowledged is found by a start with this capacity.
  void Restart(uint64_t capacity) {
    ASSERT_TRUE(world.log->WaitDurable(world.Append(++number)).ok());
    world.Vanish();
    files.Crash({.keep = CrashPlan::Keep::kNothing}, number);
    world.options.capacity_bytes = capacity;
    ASSERT_TRUE(world.Start().ok());
    ASSERT_FALSE(world.found.empty());
    for (size_t i = 1; i < world.found.size(); ++i) {
      ASSERT_EQ(world.found[i - 1].number + 1, world.found[i].number);
    }
    EXPECT_EQ(world.found.back().number, number);
    EXPECT_EQ(world.log->capacity_bytes(), capacity);
  }
  /// Sizes of the log's files in kilobytes, each once.
  std::set<uint64_t> Sizes(uint64_t* total_bytes = nullptr) {
    std::set<uint64_t> sizes;
    if (total_bytes != nullptr) *total_bytes = 0;
    for (const std::string& name : files.List("log").value()) {
      if (!ParseLogFileName(name).has_value()) continue;
      Result<std::unique_ptr<File>> file = files.Open("log/" + name, {.read_only = true});
      if (!file.ok()) continue;  // renamed meanwhile
      const uint64_t bytes = (*file)->Size().value() - kLogFileHeaderBytes;
      sizes.insert(bytes / kKiB);
      if (total_bytes != nullptr) *total_bytes += bytes;
    }
    return sizes;
  }
  /// Appends a little until the files are as they should be: a thread of the log sees to that.
  void FillUntil(const std::function<bool()>& done) {
    EXPECT_TRUE(Await([&] {
      Fill(16 * kKiB);
      return done();
    })) << ::testing::PrintToString(Sizes());
  }
  [[nodiscard]] bool Exists(uint64_t file) { return files.Exists(world.LogPath(file)).value(); }

  FaultFileSystem files{TestSeed()};
  LogFixture world{&files, "log"};
  uint64_t number = 0;
};

TEST_F(LogFilesTest, AnyCapacityMayFollowAnyOther) {
  ASSERT_TRUE(world.Start().ok());
  EXPECT_EQ(Sizes(), (std::set<uint64_t>{64}));
  Fill(kMiB / 2);
  ASSERT_TRUE(world.log->SetCapacity(64 * kMiB).ok());
  EXPECT_EQ(world.log->capacity_bytes(), 64 * kMiB);
  Fill(6 * kMiB);
  EXPECT_TRUE(Sizes().contains(4096));
  // Small files are not recycled in a large log.
  FillUntil([this] { return !Sizes().contains(64); });
  Restart(64 * kMiB);
  Fill(kMiB);
  Restart(kMiB);
  Fill(20 * kMiB);
  FillUntil([this] {
    uint64_t total = 0;
    return Sizes(&total) == std::set<uint64_t>{64} && total <= kMiB + 2 * 64 * kKiB;
  });
  Restart(8 * kMiB);
  Restart(64 * kMiB);
  Fill(2 * kMiB);
  Restart(kMiB);
}

TEST_F(LogFilesTest, TheByteBeforeACheckpointAtTheEndOfAFileStays) {
  ASSERT_TRUE(world.Start().ok());
  Fill(300 * kKiB);
  // A group that ends where its file ends.
  const uint64_t before = world.log->tail().value();
  const uint64_t overhead = world.Append(++number, 3000).value() - before - 3000;
  uint64_t left = 64 * kKiB - world.log->tail().value() % (64 * kKiB);
  for (; left > 12000; left -= 3000 + overhead) ASSERT_NE(world.Append(++number, 3000), kNoLsn);
  const Lsn end = world.Append(++number, left - overhead);
  ASSERT_EQ(end.value() % (64 * kKiB), 0u);
  ASSERT_TRUE(world.log->WaitDurable(end).ok());
  ASSERT_TRUE(world.Checkpoint(end).ok());
  world.Vanish();
  // Nothing else is there: the start needs two files, and this one must not become one of them.
  for (const std::string& name : files.List("log").value()) {
    const std::optional<uint64_t> file = ParseLogFileName(name);
    if (file.has_value() && *file != end.value() / (64 * kKiB) - 1) {
      ASSERT_TRUE(files.Remove("log/" + name).ok());
    }
  }
  ASSERT_TRUE(world.Start().ok());
  world.Vanish();
  ASSERT_TRUE(world.Start().ok()) << "the byte before the checkpoint is gone";
  Fill(200 * kKiB);
  Restart(kMiB);
}

TEST_F(LogFilesTest, ACapacityOfATebibyteTakesTwoFilesAtFirst) {
  ASSERT_TRUE(world.Start().ok());
  // Not prepared by the background thread meanwhile: 128 MiB of zeros.
  files.Inject({.call = FileCall::kWrite,
                .path_part = "redo_prepare",
                .lasting = true,
                .code = Code::kNoSpace});
  ASSERT_TRUE(world.log->SetCapacity(kLogCapacityLimits.greatest).ok());
  EXPECT_EQ(world.log->capacity_bytes(), kLogCapacityLimits.greatest);
  EXPECT_TRUE(world.log->SetCapacity(kLogCapacityLimits.greatest + 1).Is(Code::kInvalidArgument));
  EXPECT_TRUE(world.log->SetCapacity(kLogCapacityLimits.least - 1).Is(Code::kInvalidArgument));
}

TEST_F(LogFilesTest, SmallFilesAreRecycledWhenThereIsNoRoomForLargeOnes) {
  ASSERT_TRUE(world.Start().ok());
  Fill(kMiB);
  files.Inject({.call = FileCall::kWrite,
                .path_part = "redo_prepare",
                .lasting = true,
                .code = Code::kNoSpace});
  ASSERT_TRUE(world.log->SetCapacity(64 * kMiB).ok());
  Fill(4 * kMiB);
  EXPECT_FALSE(world.log->stopped());
  EXPECT_EQ(Sizes(), (std::set<uint64_t>{64}));
  files.ClearFaults();
  FillUntil([this] { return Sizes().contains(4096); });
  Restart(64 * kMiB);
}

TEST_F(LogFilesTest, AHoldKeepsTheLogForItsReader) {
  ASSERT_TRUE(world.Start().ok());
  Fill(kMiB);
  const Lsn from = world.log->tail();
  const uint64_t first = number + 1;
  auto hold = world.log->Hold("archive", from, 8 * kMiB);
  ASSERT_TRUE(hold.ok());
  Fill(4 * kMiB);  // four times the capacity: writers did not wait for the reader
  ASSERT_EQ(world.log->Readers().size(), 1u);
  EXPECT_EQ(world.log->Readers()[0].name, "archive");
  EXPECT_EQ(world.log->Readers()[0].lsn, from);
  auto reader = LogReader::Open(&files, "log", world.control->data(), from);
  ASSERT_TRUE(reader.ok());
  LogReader::Group group;
  uint64_t expected = first;
  ASSERT_TRUE(world.log->WaitDurable(world.log->tail()).ok());
  for (Status status = (*reader)->Next(&group); status.ok(); status = (*reader)->Next(&group)) {
    ASSERT_EQ(NumberOfGroup(group.bytes), expected);
    ++expected;
  }
  EXPECT_EQ(expected, number + 1);
  const uint64_t held_file = from.value() / (64 * kKiB);
  EXPECT_TRUE(Exists(held_file));
  EXPECT_TRUE((*hold)->Advance((*reader)->end()));
  while (Exists(held_file)) std::this_thread::yield();
  EXPECT_TRUE(world.log->Hold("late", from, 1).status().Is(Code::kNotFound));
  hold->reset();
  EXPECT_TRUE(world.log->Readers().empty());
}

TEST_F(LogFilesTest, AReaderThatFallsTooFarBehindIsLetGo) {
  ASSERT_TRUE(world.Start().ok());
  Fill(kMiB);
  auto hold = world.log->Hold("backup", world.log->tail(), 2 * kMiB);
  ASSERT_TRUE(hold.ok());
  const LogCapture log;
  Fill(6 * kMiB);
  while (!(*hold)->lost()) std::this_thread::yield();
  EXPECT_FALSE((*hold)->Advance(world.log->tail()));
  EXPECT_TRUE(log.Has("The reader 'backup' of the redo log is at LSN")) << log.Text();
  FillUntil([this] {
    uint64_t total = 0;
    Sizes(&total);
    return total <= kMiB + 2 * 64 * kKiB;
  });
}

TEST_F(LogFilesTest, AFullDiskEndsHoldsBeforeWritersWait) {
  ASSERT_TRUE(world.Start().ok());
  Fill(2 * kMiB);
  auto hold = world.log->Hold("backup", world.log->tail(), kGiB);
  ASSERT_TRUE(hold.ok());
  files.Inject({.call = FileCall::kWrite,
                .path_part = "redo_prepare",
                .lasting = true,
                .code = Code::kNoSpace});
  const LogCapture log;
  Fill(4 * kMiB);
  EXPECT_TRUE((*hold)->lost());
  EXPECT_TRUE(log.Has("kept any longer for its reader 'backup'")) << log.Text();
}

}  // namespace
}  // namespace rowan::log_files_test
