// SPDX-License-Identifier: GPL-2.0-only
// A pool that reads a page older than its last write: it says so, repairs what the log can repair,
// and builds nothing on the rest.
#include <gtest/gtest.h>

#include <vector>

#include "base/counters.h"
#include "buffer/page/page_lsns.h"
#include "tests/buffer/pool_fixture.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

/// Old states of pages at home, under a pool that has to notice.
class StalePage : public ::testing::Test {
 protected:
  void SetUp() override {
    fixture_.Create();
    ASSERT_TRUE(fixture_.pool().SetDoublewriteMode(DoublewriteMode::kOff).ok());
    ASSERT_TRUE(Change(5).ok());
    old_ = fixture_.ReadHome(5);
    ASSERT_TRUE(Change(5).ok());
  }
  Status Change(uint32_t page) {
    const Result<Lsn> end = fixture_.Add(page, 1);
    return end.ok() ? fixture_.pool().FlushAndCheckpoint() : end.status();
  }
  /// Pages 1 to 9 come from disk at their next use.
  void EvictAll() {
    for (uint32_t i = 10; i < 250; ++i) {
      ASSERT_TRUE(fixture_.Read(i).ok());
    }
  }

  FaultFileSystem fs_{TestSeed()};
  PoolFixture fixture_{&fs_, {.pool_pages = 32}};
  std::vector<std::byte> old_;
};

TEST_F(StalePage, IsReportedByNameAtRunTimeAndAfterRestarts) {
  fixture_.WriteHome(5, old_);
  EvictAll();
  LogCapture log;
  const uint64_t before = ReadCounter(Counter::kStalePages);
  EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt));
  EXPECT_TRUE(
      log.Has("Page 5 of /instance/space_16.rws is damaged: it is older than its last "
              "write (LSN "))
      << log.Text();
  EXPECT_EQ(ReadCounter(Counter::kStalePages), before + 1);
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(fixture_.Start().ok());
    EXPECT_TRUE(fixture_.Read(5).status().Is(Code::kCorrupt));
    EXPECT_EQ(fixture_.Read(6).value(), 0u);
  }
}

TEST_F(StalePage, OfADroppedOrMisdirectedWriteIsReported) {
  fs_.Inject({.call = FileCall::kWrite,
              .path_part = "space_16",
              .effect = InjectedFault::Effect::kDropWrite});
  ASSERT_TRUE(Change(7).ok());
  fs_.Inject({.call = FileCall::kWrite,
              .path_part = "space_16",
              .effect = InjectedFault::Effect::kMisdirectWrite,
              .misdirect_bytes = TestPageSizeBytes()});
  ASSERT_TRUE(Change(8).ok());
  fs_.ClearFaults();
  EvictAll();
  EXPECT_TRUE(fixture_.Read(7).status().Is(Code::kCorrupt)) << "dropped";
  EXPECT_TRUE(fixture_.Read(8).status().Is(Code::kCorrupt)) << "went elsewhere";
  EXPECT_TRUE(fixture_.Read(9).status().Is(Code::kCorrupt)) << "was overwritten";
}

TEST_F(StalePage, ThatTheLogCanBringUpToDateIsRepaired) {
  // Both states are younger than the checkpoint: what is between them is in the log.
  const std::vector<std::byte> control = [this] {
    std::vector<std::byte> bytes(8192);
    auto file = fs_.Open("/instance/rowan.control", {});
    EXPECT_TRUE((*file)->Read(0, bytes).ok());
    return bytes;
  }();
  ASSERT_TRUE(Change(5).ok());
  old_ = fixture_.ReadHome(5);
  ASSERT_TRUE(Change(5).ok());
  fixture_.WriteHome(5, old_);
  auto file = fs_.Open("/instance/rowan.control", {});
  ASSERT_TRUE((*file)->Write(0, control).ok());  // the crash came before the last checkpoints
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_EQ(fixture_.Read(5).value(), 4u);
}

TEST_F(StalePage, ThatTheLogCannotBringUpToDateIsNoBaseForRedo) {
  ASSERT_TRUE(fixture_.Add(5, 1).ok());
  ASSERT_TRUE(fixture_.log().WaitDurable(fixture_.log().tail()).ok());
  fixture_.WriteHome(5, old_);
  LogCapture log;
  EXPECT_TRUE(fixture_.Start().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("Page 5 of /instance/space_16.rws is damaged: it is older")) << log.Text();
}

TEST_F(StalePage, IsNoMatterIfRedoDefinesItAnew) {
  ASSERT_TRUE(fixture_.Init(5, 77).ok());
  ASSERT_TRUE(fixture_.log().WaitDurable(fixture_.log().tail()).ok());
  fixture_.WriteHome(5, old_);
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_EQ(fixture_.Read(5).value(), 77u);
}

TEST_F(StalePage, FailuresOfTheFileStopTheEngineBeforeTheCheckpointMoves) {
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    ASSERT_TRUE(fixture_.Start().ok());
    const Lsn checkpoint = fixture_.control().data().checkpoint_lsn;
    ASSERT_TRUE(fixture_.Add(9, 1).ok());
    fs_.Inject({.call = call, .path_part = kPageLsnsFileName});
    EXPECT_TRUE(fixture_.pool().FlushAndCheckpoint().Is(Code::kStopped));
    EXPECT_TRUE(fixture_.storage().stopped());
    EXPECT_EQ(fixture_.control().data().checkpoint_lsn, checkpoint);
    fs_.ClearFaults();
  }
}

}  // namespace
}  // namespace rowan
