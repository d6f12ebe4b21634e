// SPDX-License-Identifier: GPL-2.0-only
// What becomes of folders when an instance is to be created in them, as instance_folder.txt has it.
#include "storage/instance_folder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan {
namespace {

const std::string kFolder = "/data/rowan";

struct Case {
  std::string line;
  std::vector<std::string> files;
  std::string outcome;
  std::vector<std::string> remain;
};

std::vector<std::string> Words(const std::string& text) {
  std::istringstream stream(text);
  std::vector<std::string> words;
  for (std::string word; stream >> word;) words.push_back(word);
  return words;
}

std::vector<Case> Cases() {
  std::ifstream stream(ROWAN_TEST_DATA "/instance_folder.txt");
  std::vector<Case> cases;
  for (std::string line; std::getline(stream, line);) {
    const size_t arrow = line.find("=>");
    if (line.starts_with("#") || arrow == std::string::npos) continue;
    const size_t colon = std::min(line.find(':', arrow), line.size());
    const std::vector<std::string> outcome = Words(line.substr(arrow + 2, colon - arrow - 2));
    cases.push_back({line, Words(line.substr(0, arrow)), outcome.empty() ? "" : outcome.front(),
                     colon < line.size() ? Words(line.substr(colon + 1)) : Words("")});
  }
  return cases;
}

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
  const std::vector<Case> cases = Cases();
  ASSERT_GT(cases.size(), 10u);
  for (const Case& one : cases) {
    SCOPED_TRACE(one.line);
    for (const std::string& name : Present()) ASSERT_TRUE(files_.Remove(kFolder + "/" + name).ok());
    ASSERT_NO_FATAL_FAILURE(Fill(one.files));
    const LogCapture log;
    const Status status = ClearInstanceFolder(&files_, kFolder, false);
    EXPECT_EQ(OutcomeOf(status), one.outcome) << status.message();
    EXPECT_EQ(Present(), one.remain);
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
}  // namespace rowan
