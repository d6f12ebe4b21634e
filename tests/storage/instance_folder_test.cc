// SPDX-License-Identifier: GPL-2.0-only
// What becomes of folders when an instance is to be created in them, as instance_folder.txt has it.
#include "storage/instance_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/storage/text_cases.h"
#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan::instance_folder_test {
namespace {

const std::string kFolder = "/data/rowan";

class InstanceFolderTest : public testing::Test {
 protected:
  void Fill(const std::vector<std::string>& names) {
    ASSERT_TRUE(MakeInstanceFolder(&files_, kFolder).ok());
    for (const std::string& name : names) {
      ASSERT_TRUE(WriteWholeFile(&files_, kFolder + "/" + name, AsBytes(name)).ok());
    }
    ASSERT_TRUE(files_.SyncDirectory(kFolder).ok());
    ASSERT_TRUE(files_.SyncDirectory("/data").ok());
  }
  std::vector<std::string> Present() {
    std::vector<std::string> names = files_.List(kFolder).value();
    std::sort(names.begin(), names.end());
    return names;
  }

  FaultFileSystem files_{TestSeed()};
};

std::string OutcomeOf(const Status& status) {
  return status.ok() ? "empty" : status.Is(Code::kCorrupt) ? "lost" : "foreign";
}

TEST_F(InstanceFolderTest, IsEmptiedOrRefusedAsTheTableSays) {
  const std::vector<TextCase> cases = ReadTextCases(ROWAN_TEST_DATA "/instance_folder.txt");
  ASSERT_GT(cases.size(), 10u);
  for (const TextCase& one : cases) {
    SCOPED_TRACE(one.line);
    for (const std::string& name : Present()) ASSERT_TRUE(files_.Remove(kFolder + "/" + name).ok());
    ASSERT_NO_FATAL_FAILURE(Fill(Words(one.given.at(0))));
    const LogCapture log;
    const Status status = ClearInstanceFolder(&files_, kFolder, false);
    EXPECT_EQ(OutcomeOf(status), Words(one.expected.at(0)).at(0)) << status.message();
    EXPECT_EQ(Present(), Words(one.expected.at(1)));
    EXPECT_EQ(log.Has(kFolder), !status.ok()) << log.Text();
  }
}

TEST_F(InstanceFolderTest, IsMadeOnceAndItsNameIsDurable) {
  Result<bool> made = MakeInstanceFolder(&files_, kFolder);
  ASSERT_TRUE(made.ok());
  EXPECT_TRUE(made.value());
  ASSERT_TRUE(ClearInstanceFolder(&files_, kFolder, true).ok());
  files_.Crash({.keep = CrashPlan::Keep::kNothing}, TestSeed());
  made = MakeInstanceFolder(&files_, kFolder);
  ASSERT_TRUE(made.ok());
  EXPECT_FALSE(made.value());
}

TEST_F(InstanceFolderTest, AParentThatOnlyItsAdministratorOpensMattersToANewFolderAlone) {
  ASSERT_TRUE(MakeInstanceFolder(&files_, kFolder).ok());
  files_.Inject({.call = FileCall::kSyncDirectory, .path_part = "/data", .lasting = true});
  EXPECT_FALSE(ClearInstanceFolder(&files_, kFolder, true).ok());
  EXPECT_TRUE(ClearInstanceFolder(&files_, kFolder, false).ok());
}

// Whatever a crash leaves of an unfinished creation is taken for that by the next start.
TEST_F(InstanceFolderTest, EmptyingMayBeCutShortAnywhere) {
  Random random(TestSeed());
  const std::vector<std::string> names = {"redo_0000000001", "rowan.control", "rowan.doublewrite",
                                          "space_0.rws", "space_1.rws"};
  for (int round = 0; round < 200; ++round) {
    SCOPED_TRACE(files_.Describe());
    ASSERT_NO_FATAL_FAILURE(Fill(names));
    files_.PowerOffAfter(random.Below(9));
    ClearInstanceFolder(&files_, kFolder, false).Ignore();
    files_.Crash(random.Next());
    const Status status = ClearInstanceFolder(&files_, kFolder, false);
    ASSERT_TRUE(status.ok()) << status.message();
    ASSERT_TRUE(Present().empty());
  }
}

}  // namespace
}  // namespace rowan::instance_folder_test
