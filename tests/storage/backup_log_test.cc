// SPDX-License-Identifier: GPL-2.0-only
// The copy of a log that grows meanwhile, beside a list of its groups: what is in it, what of the
// log it keeps from being recycled, and how it fails.
#include "storage/backup_log.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/support/await.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"
#include "tests/wal/log_fixture.h"

namespace rowan {
namespace {

constexpr uint64_t kNoLimit = uint64_t{1} << 40;
constexpr auto kNever = [] { return false; };

class BackupLogTest : public testing::Test {
 protected:
  BackupLogTest() {
    EXPECT_TRUE(files_.CreateFolder("/backup").ok() && files_.SyncDirectory("/").ok());
    EXPECT_TRUE(world_.Start().ok());
  }
  std::unique_ptr<BackupLog> Make(uint64_t bytes_max = kNoLimit) {
    return std::make_unique<BackupLog>(BackupLog::Options{.file_system = &files_,
                                                          .log = world_.log.get(),
                                                          .instance_id = InstanceOf(),
                                                          .source = world_.folder(),
                                                          .target = "/backup",
                                                          .bytes_max = bytes_max});
  }
  InstanceId InstanceOf() { return world_.control->data().instance_id; }
  /// Durably; the end of the last one.
  Lsn Append(int groups) {
    for (; groups > 0; --groups) {
      ends_.push_back(world_.Append(ends_.size(), random_.Below(2000)));
    }
    EXPECT_TRUE(world_.log->WaitDurable(ends_.back()).ok());
    return ends_.back();
  }
  /// The groups in the copy are those that end in (start, end], and it ends there.
  void ExpectCopied(Lsn start, Lsn end) {
    ControlData control = world_.control->data();
    control.log_durable_lsn = end;  // one that ends earlier has lost something
    const auto reader = LogReader::Open(&files_, "/backup", control, start);
    ASSERT_TRUE(reader.ok()) << reader.status().message();
    LogReader::Group group;
    std::vector<Lsn> found;
    Status status;
    while ((status = reader.value()->Next(&group)).ok()) {
      found.push_back(group.end);
      EXPECT_EQ(ends_.at(NumberOfGroup(group.bytes)), group.end);
    }
    EXPECT_TRUE(status.Is(Code::kEndOfRange)) << status.message();
    EXPECT_EQ(reader.value()->end(), end);
    std::vector<Lsn> expected = ends_;
    std::erase_if(expected, [=](Lsn one) { return one <= start || one > end; });
    EXPECT_EQ(found, expected);
  }
  std::vector<std::string> CopiedFiles() {
    std::vector<std::string> names = files_.List("/backup").value();
    std::sort(names.begin(), names.end());
    return names;
  }

  FaultFileSystem files_{TestSeed()};
  LogFixture world_{&files_, "/instance"};
  Random random_{TestSeed()};
  std::vector<Lsn> ends_;  ///< of the groups, by their numbers
};

TEST_F(BackupLogTest, HasTheGroupsFromTheCheckpointToTheEndAndNoOthers) {
  Append(100);
  ASSERT_TRUE(world_.Checkpoint(ends_[60]).ok());
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(start.value(), ends_[60]);
  const Lsn end = Append(200);
  // More is copied than the backup needs at last.
  ASSERT_TRUE(copy->CopyUpTo(Append(200)).ok());
  ASSERT_TRUE(copy->Finish(end, kNever).ok());
  ExpectCopied(ends_[60], end);
}

TEST_F(BackupLogTest, ItsFilesAreThoseOfTheLogWithZerosAround) {
  Append(100);
  ASSERT_TRUE(world_.Checkpoint(ends_[70]).ok());
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  const Lsn end = Append(150);
  ASSERT_TRUE(copy->CopyUpTo(Append(100)).ok());
  ASSERT_TRUE(copy->Finish(end, kNever).ok());
  const uint64_t file_bytes = world_.control->data().log_file_bytes;
  const uint64_t first = start.value().value() / file_bytes;
  const uint64_t last = (end - 1).value() / file_bytes;
  ASSERT_GT(last, first);
  ASSERT_EQ(CopiedFiles().size(), last - first + 1);
  for (uint64_t number = first; number <= last; ++number) {
    const std::string path = world_.LogPath(number);
    std::vector<std::byte> expected = BytesOfFile(&files_, path);
    for (uint64_t i = 4096; i < expected.size(); ++i) {
      const Lsn at(number * file_bytes + i - 4096);
      if (at < start.value() || at >= end) expected[i] = std::byte{0};
    }
    EXPECT_TRUE(BytesOfFile(&files_, "/backup/" + path.substr(path.rfind('/') + 1)) == expected)
        << path;
  }
}

TEST_F(BackupLogTest, WithoutAnyLogItHasTheFileAllTheSame) {
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  EXPECT_EQ(start.value(), Log::kFirstLsn);
  ASSERT_TRUE(copy->Finish(start.value(), kNever).ok());
  EXPECT_EQ(CopiedFiles().size(), 1u);
  ExpectCopied(start.value(), start.value());
}

TEST_F(BackupLogTest, AThreadFollowsTheDurableEndAndWhatIsCopiedIsLetGo) {
  const std::unique_ptr<BackupLog> copy = Make();
  ASSERT_TRUE(copy->Start().ok());
  const Lsn end = Append(50);
  ASSERT_TRUE(Await([&] { return world_.log->Readers().at(0).lsn >= end; }));
  EXPECT_NE(world_.log->Readers().at(0).name.find("'/backup'"), std::string::npos);
}

// Several times the log's capacity goes through it, all of which the copy gets.
TEST_F(BackupLogTest, FollowsALogThatIsRecycledBehindIt) {
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  Lsn end = start.value();
  while (end < start.value() + 4 * world_.options.capacity_bytes) {
    end = Append(100);
    ASSERT_TRUE(copy->CopyUpTo(end).ok());
    EXPECT_GE(world_.log->Readers().at(0).lsn, end);
    ASSERT_TRUE(world_.Checkpoint(end).ok());
  }
  ASSERT_TRUE(Await([&] { return !files_.Exists(world_.LogPath(0)).value(); }));
  ASSERT_TRUE(copy->Finish(end, kNever).ok());
  ExpectCopied(start.value(), end);
}

TEST_F(BackupLogTest, TheHoldEndsWithIt) {
  {
    const std::unique_ptr<BackupLog> copy = Make();
    ASSERT_TRUE(copy->Start().ok());
    EXPECT_EQ(world_.log->Readers().size(), 1u);
  }
  EXPECT_TRUE(world_.log->Readers().empty());
}

TEST_F(BackupLogTest, IsDurableOnceItIsFinished) {
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  const Lsn end = Append(200);
  ASSERT_TRUE(copy->CopyUpTo(Append(200)).ok());
  ASSERT_TRUE(copy->Finish(end, kNever).ok());
  ASSERT_TRUE(files_.SyncDirectory("/backup").ok());
  ASSERT_TRUE(world_.log->Close().ok());
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  ExpectCopied(start.value(), end);
}

TEST_F(BackupLogTest, AFailureIsKeptForAllLaterCallers) {
  const std::unique_ptr<BackupLog> copy = Make();
  ASSERT_TRUE(copy->Start().ok());
  files_.Inject({.call = FileCall::kWrite, .path_part = "/backup/", .error = 77});
  const Status failed = copy->CopyUpTo(Append(10));
  EXPECT_TRUE(failed.Is(Code::kIoError));
  EXPECT_EQ(failed.detail(), 77u);
  // The disk is fine again, but the copy has a hole.
  const Lsn end = Append(10);
  EXPECT_EQ(copy->CopyUpTo(end).detail(), 77u);
  EXPECT_EQ(copy->Finish(end, kNever).detail(), 77u);
  EXPECT_TRUE(world_.log->WaitDurable(Append(1)).ok()) << "the log itself is not concerned";
}

// The thread may be quicker than the one that asks.
TEST_F(BackupLogTest, IsInterruptedWhileSomethingIsMissing) {
  const std::unique_ptr<BackupLog> copy = Make();
  const Result<Lsn> start = copy->Start();
  ASSERT_TRUE(start.ok());
  int asked = 0;
  const auto always = [&asked] { return ++asked > 0; };
  ASSERT_TRUE(Await([&] {
    const Lsn end = Append(1);
    EXPECT_TRUE(world_.Checkpoint(end).ok());
    return copy->CopyUpTo(end, always).Is(Code::kInterrupted);
  }));
  EXPECT_EQ(asked, 1);
  ASSERT_TRUE(copy->Finish(ends_.back(), kNever).ok()) << "what is missing can be copied later";
  ExpectCopied(start.value(), ends_.back());
}

TEST_F(BackupLogTest, ThatFallsTooFarBehindLosesItsPartOfTheLogAndSaysSo) {
  const LogCapture log;
  // Not even the bytes between two looks.
  const std::unique_ptr<BackupLog> copy = Make(0);
  ASSERT_TRUE(copy->Start().ok());
  ASSERT_TRUE(Await([&] {
    EXPECT_TRUE(world_.Checkpoint(Append(100)).ok());
    return world_.log->Readers().at(0).lost;
  }));
  Append(1);
  EXPECT_TRUE(copy->CopyUpTo(ends_.back()).Is(Code::kStopped));
  EXPECT_TRUE(copy->Finish(ends_.back(), kNever).Is(Code::kStopped));
  EXPECT_TRUE(log.Has("'backup to '/backup''")) << log.Text();
}

// The copying is slow: within a file, which becomes another one meanwhile, or at the end of one.
TEST_F(BackupLogTest, AFileThatIsGoneWhenItIsNeededFailsItAndNothingElse) {
  const LogCapture quiet;
  for (const int groups : {1, 300}) {
    const std::unique_ptr<BackupLog> copy = Make(world_.options.capacity_bytes);
    ASSERT_TRUE(copy->Start().ok());
    ASSERT_TRUE(copy->CopyUpTo(Append(1)).ok());
    int asked = 0;
    const auto let_go = [&] {
      if (++asked != (groups == 1 ? 1 : 2)) return false;  // the first piece ends with its file
      const uint64_t file = ends_.back().value() / world_.control->data().log_file_bytes;
      EXPECT_TRUE(Await([&] {
        EXPECT_TRUE(world_.Checkpoint(Append(100)).ok());
        return !files_.Exists(world_.LogPath(file)).value();
      }));
      return false;
    };
    Status status;
    ASSERT_TRUE(Await([&] {
      const size_t before = ends_.size();
      status = copy->CopyUpTo(Append(groups), let_go);
      EXPECT_TRUE(world_.Checkpoint(ends_.back()).ok());
      if (ends_.size() == before + groups) asked = 0;  // the copying thread was quicker
      return asked > 0;
    }));
    EXPECT_TRUE(status.Is(Code::kStopped)) << status.message();
    EXPECT_TRUE(copy->Finish(ends_.back(), kNever).Is(Code::kStopped));
    EXPECT_TRUE(world_.log->WaitDurable(Append(1)).ok());
  }
}

}  // namespace
}  // namespace rowan
