// SPDX-License-Identifier: GPL-2.0-only
// The one pass over the log that recovery begins with: what it lists, as recovery_scan.txt has it,
// and what it refuses. Nothing is changed by it.
#include <gtest/gtest.h>

#include <memory>
#include <set>
#include <string>
#include <vector>

#include "storage/recovery.h"
#include "tests/storage/log_program.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan::recovery_scan_test {
namespace {

const std::string kFolder = "/instance";
constexpr uint64_t kMuchMemory = uint64_t{64} << 20;

class RecoveryScanTest : public testing::Test {
 protected:
  RecoveryScanTest() { Begin(); }
  void Begin() {
    program_.reset();
    files_ = std::make_unique<FaultFileSystem>(TestSeed());
    damaged_ = std::make_unique<DamagedSpaces>(files_.get(), kFolder);
    program_ = std::make_unique<LogProgram>(files_.get(), kFolder);
  }
  /// Of the log as it is, which has been closed.
  std::unique_ptr<Recovery> Make(uint64_t memory_bytes_max = kMuchMemory) {
    return std::make_unique<Recovery>(
        files_.get(), kFolder, program_->control(),
        RecoveryOptions{.memory_bytes_max = memory_bytes_max, .workers = 1}, damaged_.get());
  }

  std::unique_ptr<FaultFileSystem> files_;
  std::unique_ptr<DamagedSpaces> damaged_;
  std::unique_ptr<LogProgram> program_;
};

TEST_F(RecoveryScanTest, ListsWhatPagesMayLackAsTheTableHasIt) {
  const std::vector<TextCase> cases = ReadTextCases(ROWAN_TEST_DATA "/recovery_scan.txt");
  ASSERT_GT(cases.size(), 7u);
  for (const TextCase& one : cases) {
    SCOPED_TRACE(one.line);
    Begin();
    program_->Write(one.given.at(0));
    const Lsn end = program_->Close();
    const uint64_t before = files_->Digest();
    const std::unique_ptr<Recovery> recovery = Make();
    ASSERT_TRUE(recovery->Scan().ok());
    EXPECT_EQ(files_->Digest(), before);
    EXPECT_EQ(recovery->end(), end);
    std::set<SpaceId> spaces;
    for (const std::string& word : Words(one.expected.at(0))) spaces.insert(PageOf(word).space);
    EXPECT_EQ(std::set<SpaceId>(recovery->spaces().begin(), recovery->spaces().end()), spaces);
    std::vector<uint64_t> pages;
    for (const std::string& word : Words(one.expected.at(1))) {
      pages.push_back(PageOf(word).Packed());
    }
    EXPECT_EQ(recovery->backlog().PendingPages(), pages);
    EXPECT_EQ(recovery->HasPending(), !pages.empty());
    const RecoveryStatistics& done = recovery->statistics();
    EXPECT_EQ(std::to_string(done.groups) + " " + std::to_string(done.records),
              Words(one.expected.at(2)).at(0) + " " + Words(one.expected.at(2)).at(1));
  }
}

TEST_F(RecoveryScanTest, BeginsAtTheCheckpoint) {
  const std::vector<Lsn> starts = program_->Write("new:16:3; set:17:4; set:18:5;");
  ASSERT_TRUE(program_->world().Checkpoint(starts[1]).ok());
  program_->Close();
  const std::unique_ptr<Recovery> recovery = Make();
  ASSERT_TRUE(recovery->Scan().ok());
  EXPECT_EQ(recovery->begin(), starts[1]);
  EXPECT_EQ(recovery->statistics().groups, 2u);
  EXPECT_FALSE(recovery->spaces().contains(SpaceId(16)));
}

// Spaces and formats are judged by all of the log, however little of it is listed at a time.
TEST_F(RecoveryScanTest, LittleMemoryListsTheBeginningAndStillReadsAll) {
  std::string text;
  for (int i = 0; i < 2000; ++i) text += "set:16:" + std::to_string(10 + i) + "; ";
  program_->Write(text + "set:17:3;");
  const Lsn end = program_->Close();
  const std::unique_ptr<Recovery> recovery = Make(8192);
  ASSERT_TRUE(recovery->Scan().ok());
  EXPECT_EQ(recovery->end(), end);
  EXPECT_EQ(recovery->statistics().groups, 2001u);
  EXPECT_TRUE(recovery->spaces().contains(SpaceId(17)));
  const size_t listed = recovery->backlog().PendingPages().size();
  EXPECT_GT(listed, 0u);
  EXPECT_LT(listed, 2001u);
}

TEST_F(RecoveryScanTest, AnUnknownRecordIsRefusedByItsNumbersWhereverItIs) {
  for (const char* text : {"far:16:3;", "new:16:3; set:16:3; far:16:3;", "set:16:3 far:17:3;"}) {
    Begin();
    program_->Write(text);
    program_->Close();
    const uint64_t before = files_->Digest();
    const LogCapture log;
    EXPECT_TRUE(Make()->Scan().Is(Code::kNewerFormat)) << text;
    EXPECT_TRUE(log.Has("unknown type 126, version 0")) << log.Text();
    EXPECT_EQ(files_->Digest(), before);
  }
}

TEST_F(RecoveryScanTest, DamageBelowTheDurableEndIsRefusedWithTheFile) {
  const std::vector<Lsn> starts = program_->Write("new:16:3; set:17:4; set:18:5;");
  program_->Close();
  const std::string path = program_->world().PathOf(starts[1]);
  ASSERT_TRUE(files_->FlipBit(path, program_->world().OffsetOf(starts[1]) + 26, 1));
  // Its end is known, as after a clean shutdown.
  ASSERT_TRUE(program_->world()
                  .control->Update([&](ControlData& data) { data.log_durable_lsn = starts[2]; })
                  .ok());
  const uint64_t before = files_->Digest();
  const LogCapture log;
  EXPECT_TRUE(Make()->Scan().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has(path)) << log.Text();
  EXPECT_EQ(files_->Digest(), before);
}

TEST_F(RecoveryScanTest, ATornEndIsWhereAppendingContinues) {
  program_->Write("new:16:3;");
  const Lsn torn = program_->world().log->tail();
  program_->Write("set:17:4;");
  program_->world().Vanish();
  ASSERT_TRUE(files_->FlipBit(kFolder + "/redo_0000000000", 4096 + torn.value() + 26, 1));
  ASSERT_TRUE(program_->world().OpenControl().ok());
  const std::unique_ptr<Recovery> recovery = Make();
  ASSERT_TRUE(recovery->Scan().ok());
  EXPECT_EQ(recovery->end(), torn);
  EXPECT_FALSE(recovery->spaces().contains(SpaceId(17)));
}

}  // namespace
}  // namespace rowan::recovery_scan_test
