// SPDX-License-Identifier: GPL-2.0-only
// What the log of a backup tells about the files beside it, as backup_log_scan.txt has it; and
// logs that are not what the backup should have.
#include "storage/backup_log_scan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "base/format.h"
#include "tests/storage/log_program.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan::backup_log_scan_test {
namespace {

using When = BackupLogScan::When;

const std::string kFolder = "/backup";

std::string TextOf(std::vector<SpaceId> spaces) {
  std::sort(spaces.begin(), spaces.end());
  std::string text;
  for (const SpaceId space : spaces) text += Format("{} ", space.value());
  return text;
}

std::string TextOf(const std::vector<PageId>& pages) {
  std::string text;
  for (const PageId page : pages) text += Format("{}:{} ", page.space.value(), page.page.value());
  return text;
}

/// Each word with one blank behind it, as TextOf makes them.
std::string Blanks(const std::string& text) {
  std::string result;
  for (const std::string& word : Words(text)) result += word + " ";
  return result;
}

TEST(BackupLogScanTest, SaysWhatTheLogChangesAndWhatIsLostAsTheTableHasIt) {
  const std::vector<TextCase> cases = ReadTextCases(ROWAN_TEST_DATA "/backup_log_scan.txt");
  ASSERT_GT(cases.size(), 15u);
  for (const TextCase& one : cases) {
    SCOPED_TRACE(one.line);
    FaultFileSystem files(TestSeed());
    LogProgram program(&files, kFolder);
    program.Write(one.given.at(0));
    BackupLogScan scan;
    for (const std::string& word : Words(one.given.at(1))) {
      scan.ExpectBeginning(PageOf(word), word.ends_with("?") ? When::kIfChanged : When::kAlways);
    }
    ASSERT_TRUE(scan.Run(&files, kFolder, program.control(), program.Close()).ok());
    EXPECT_EQ(TextOf(scan.Changed()), Blanks(one.expected.at(0)));
    EXPECT_EQ(TextOf(scan.NeverBegun()), Blanks(one.expected.at(1)));
  }
}

class BackupLogScanDamageTest : public testing::Test {
 protected:
  /// A log over several files.
  void Fill() {
    for (int i = 0; i < 20; ++i) {
      starts_.push_back(program_.world().log->tail());
      program_.world().Append(i, 8000);
    }
    const Lsn tail = program_.world().log->tail();
    ASSERT_TRUE(program_.world().log->WaitDurable(tail).ok());
    end_ = program_.Close();
  }
  Status Scan(const ControlData& control, Lsn end) {
    return BackupLogScan().Run(&files_, kFolder, control, end);
  }
  void Flip(Lsn at) {
    ASSERT_TRUE(files_.FlipBit(program_.world().PathOf(at), program_.world().OffsetOf(at) + 30, 2));
  }
  void ExpectRefused(const ControlData& control, Lsn end) {
    const LogCapture log;
    EXPECT_TRUE(Scan(control, end).Is(Code::kCorrupt));
    EXPECT_TRUE(log.Has("'" + kFolder)) << log.Text();
  }

  FaultFileSystem files_{TestSeed()};
  LogProgram program_{&files_, kFolder};
  std::vector<Lsn> starts_;
  Lsn end_;
};

TEST_F(BackupLogScanDamageTest, AnEndThatIsNotWhereItShouldBeIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  EXPECT_TRUE(Scan(program_.control(), end_).ok());
  ExpectRefused(program_.control(), end_ - 1);
  ExpectRefused(program_.control(), end_ + 1);
  ExpectRefused(program_.control(), starts_[10]);
}

TEST_F(BackupLogScanDamageTest, DamageWithinOrAtTheEndIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (const size_t group : {size_t{0}, size_t{10}, starts_.size() - 1}) {
    ASSERT_NO_FATAL_FAILURE(Flip(starts_[group]));
    ExpectRefused(program_.control(), end_);
    ASSERT_NO_FATAL_FAILURE(Flip(starts_[group]));
  }
  EXPECT_TRUE(Scan(program_.control(), end_).ok());
}

TEST_F(BackupLogScanDamageTest, AFileThatIsMissingIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  for (const size_t group : {size_t{0}, size_t{10}, starts_.size() - 1}) {
    const std::string path = program_.world().PathOf(starts_[group]);
    ASSERT_TRUE(files_.Rename(path, "/aside").ok());
    ExpectRefused(program_.control(), end_);
    ASSERT_TRUE(files_.Rename("/aside", path).ok());
  }
  EXPECT_TRUE(Scan(program_.control(), end_).ok());
}

TEST_F(BackupLogScanDamageTest, TheLogOfAnotherInstanceIsRefused) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  ControlData control = program_.control();
  control.instance_id[3] ^= 1;
  ExpectRefused(control, end_);
}

TEST_F(BackupLogScanDamageTest, ARecordOfAnUnknownTypeIsRefused) {
  program_.Write("new:16:3; set:16:3 far:16:3;");
  ExpectRefused(program_.control(), program_.Close());
}

TEST_F(BackupLogScanDamageTest, ADiskThatCannotBeReadIsItsError) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  const LogCapture quiet;
  files_.Inject({.call = FileCall::kRead, .path_part = "redo_", .lasting = true});
  EXPECT_TRUE(Scan(program_.control(), end_).Is(Code::kIoError));
}

TEST_F(BackupLogScanDamageTest, IsInterruptedBetweenGroups) {
  ASSERT_NO_FATAL_FAILURE(Fill());
  size_t asked = 0;
  const auto third = [&] { return ++asked == 3; };
  EXPECT_TRUE(BackupLogScan()
                  .Run(&files_, kFolder, program_.control(), end_, third)
                  .Is(Code::kInterrupted));
  EXPECT_EQ(asked, 3u);
  asked = starts_.size();  // never again
  EXPECT_TRUE(BackupLogScan().Run(&files_, kFolder, program_.control(), end_, third).ok());
  EXPECT_EQ(asked, 2 * starts_.size()) << "once for each group";
}

}  // namespace
}  // namespace rowan::backup_log_scan_test
