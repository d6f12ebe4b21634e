// SPDX-License-Identifier: GPL-2.0-only
// Marks of damaged tablespaces beside a set of them, across crashes and failures.
#include "storage/damaged_spaces.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <thread>
#include <vector>

#include "tests/support/changed_bytes.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"
#include "tests/support/test_settings.h"

namespace rowan::damaged_spaces_test {
namespace {

const std::string kFolder = "/instance";

std::set<SpaceId> SetOf(const std::vector<SpaceId>& spaces) {
  return {spaces.begin(), spaces.end()};
}

class DamagedSpacesTest : public testing::Test {
 protected:
  DamagedSpacesTest() {
    EXPECT_TRUE(files_.CreateFolder(kFolder).ok() && files_.SyncDirectory("/").ok());
  }
  FaultFileSystem files_{TestSeed()};
  Random random_{TestSeed()};
};

TEST_F(DamagedSpacesTest, AMarkOutlivesAnyCrashAndEndsWithItsSpace) {
  std::set<SpaceId> marked;
  std::set<SpaceId>
      maybe;  // forgotten, but the name may come back with a crash: ids are not reused
  auto damaged = std::make_unique<DamagedSpaces>(&files_, kFolder);
  for (uint32_t step = 0; step < 300; ++step) {
    const SpaceId space(20 + step / 8 + static_cast<uint32_t>(random_.Below(8)));
    if (random_.OneIn(4)) {
      damaged->Forget(space);
      if (marked.erase(space) != 0) maybe.insert(space);
    } else if (!maybe.contains(space)) {
      ASSERT_TRUE(damaged->Mark(space, "It lacks changes.").ok());
      marked.insert(space);
    }
    ASSERT_EQ(SetOf(damaged->All()), marked);
    ASSERT_EQ(damaged->Contains(space), marked.contains(space));
    if (!random_.OneIn(20)) continue;
    files_.Crash(random_.Next());
    damaged = std::make_unique<DamagedSpaces>(&files_, kFolder);
    ASSERT_TRUE(damaged->Load().ok());
    std::set<SpaceId> found = SetOf(damaged->All());
    for (const SpaceId gone : maybe) {
      if (found.contains(gone)) damaged->Forget(gone);
      found.erase(gone);
    }
    ASSERT_EQ(found, marked);
  }
}

TEST_F(DamagedSpacesTest, ACrashWhileMarkingLeavesAMarkOrNone) {
  for (uint64_t changes = 0; changes < 4; ++changes) {
    DamagedSpaces damaged(&files_, kFolder);
    const SpaceId space(30 + static_cast<uint32_t>(changes));
    const LogCapture quiet;
    files_.PowerOffAfter(changes);
    const bool marked = damaged.Mark(space, "It lacks changes.").ok();
    EXPECT_EQ(damaged.Contains(space), marked);
    files_.Crash(random_.Next());
    DamagedSpaces again(&files_, kFolder);
    ASSERT_TRUE(again.Load().ok());
    EXPECT_TRUE(again.Contains(space) || !marked);
  }
}

TEST_F(DamagedSpacesTest, AMarkThatCannotBeWrittenIsAnErrorWithTheNameOfItsFile) {
  for (const FileCall call :
       {FileCall::kOpen, FileCall::kWrite, FileCall::kSync, FileCall::kSyncDirectory}) {
    DamagedSpaces damaged(&files_, kFolder);
    files_.Inject({.call = call});
    const LogCapture log;
    EXPECT_FALSE(damaged.Mark(SpaceId(40), "It lacks changes.").ok());
    EXPECT_TRUE(log.Has(damaged.PathOf(SpaceId(40)))) << log.Text();
    EXPECT_FALSE(damaged.Contains(SpaceId(40)));
    files_.ClearFaults();
    EXPECT_TRUE(damaged.Mark(SpaceId(40), "It lacks changes.").ok()) << "later it can be";
    damaged.Forget(SpaceId(40));
  }
}

TEST_F(DamagedSpacesTest, TheNameIsTheMarkAndOtherFilesAreNone) {
  for (const char* name : {"space_51.damaged", "space_52", "space_53.damaged.tmp", "space_.damaged",
                           "space_x.damaged", "space_54damaged", "redo_0000000001"}) {
    ASSERT_TRUE(WriteWholeFile(&files_, kFolder + "/" + name, {}).ok());
  }
  DamagedSpaces damaged(&files_, kFolder);
  ASSERT_TRUE(damaged.Load().ok());
  EXPECT_EQ(SetOf(damaged.All()), std::set<SpaceId>{SpaceId(51)});
}

TEST_F(DamagedSpacesTest, WaitingIsNoMarkAndIsForgottenWithTheSpace) {
  DamagedSpaces damaged(&files_, kFolder);
  damaged.SetWaits(SpaceId(60), true);
  damaged.SetWaits(SpaceId(61), true);
  damaged.SetWaits(SpaceId(61), false);
  damaged.SetWaits(SpaceId(62), true);
  damaged.Forget(SpaceId(62));
  EXPECT_EQ(SetOf(damaged.Waiting()), std::set<SpaceId>{SpaceId(60)});
  EXPECT_TRUE(damaged.Waits(SpaceId(60)));
  EXPECT_FALSE(damaged.Contains(SpaceId(60)));
  EXPECT_TRUE(files_.List(kFolder).value().empty());
}

TEST_F(DamagedSpacesTest, ThreadsMarkAndAskBesideEachOther) {
  DamagedSpaces damaged(&files_, kFolder);
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < 4; ++thread) {
    threads.emplace_back([&damaged, thread] {
      for (uint32_t i = 0; i < 50; ++i) {
        const SpaceId space(100 + i * 4 + thread);
        EXPECT_TRUE(damaged.Mark(space, "It lacks changes.").ok());
        EXPECT_TRUE(damaged.Contains(space));
        if (i % 2 == 0) damaged.Forget(space);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  DamagedSpaces again(&files_, kFolder);
  ASSERT_TRUE(again.Load().ok());
  EXPECT_EQ(again.All().size(), 100u);
  EXPECT_EQ(SetOf(again.All()), SetOf(damaged.All()));
}

}  // namespace
}  // namespace rowan::damaged_spaces_test
