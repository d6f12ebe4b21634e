// SPDX-License-Identifier: GPL-2.0-only
// The map of page versions and its file: what a checkpoint wrote is known again, a torn or rotten
// slot costs one checkpoint's news at most, nothing else is believed; and a pool that reads a page
// older than its last write says so.
#include <gtest/gtest.h>

#include <vector>

#include "base/counters.h"
#include "base/crc32c.h"
#include "buffer/page_versions.h"
#include "tests/buffer/pool_harness.h"
#include "tests/support/fault_file_system.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr SpaceId kSpace{16};
constexpr SpaceId kOther{17};

PageId At(SpaceId space, uint32_t page) { return {space, PageNumber(page)}; }

class PageVersionsFile : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(files_.Create(kSpace, 4).ok());
    ASSERT_TRUE(files_.Create(kOther, 4).ok());
    ASSERT_TRUE(Reopen({.instance = 7, .expected = false}).ok());
  }
  Status Reopen(PageVersions::Origin origin = {.instance = 7, .expected = true}) {
    versions_ = std::make_unique<PageVersions>(&fs_, &files_);
    return versions_->Open(origin);
  }
  void Checkpoint() { ASSERT_TRUE(versions_->Write(versions_->CopyChanged()).ok()); }
  uint64_t Expected(PageId id) const { return versions_->Expected(id).value(); }
  std::string Path() const { return std::string("/instance/") + kVersionsFileName; }
  std::vector<std::byte> Slot(uint64_t number) {
    std::vector<std::byte> slot(kVersionsSlotBytes);
    auto file = fs_.Open(Path(), {});
    EXPECT_TRUE((*file)->Read(number * kVersionsSlotBytes, slot).ok());
    return slot;
  }
  void SetSlot(uint64_t number, std::vector<std::byte> slot, bool seal = false) {
    if (seal) StoreLe<uint32_t>(slot.data(), Crc32c(Bytes(slot).subspan(4)));
    auto file = fs_.Open(Path(), {});
    EXPECT_TRUE((*file)->Write(number * kVersionsSlotBytes, slot).ok());
  }

  FaultFileSystem fs_{TestSeed()};
  SpaceFiles files_{&fs_, {.folder = "/instance", .page_size_bytes = TestPageSizeBytes()}};
  std::unique_ptr<PageVersions> versions_;
};

TEST_F(PageVersionsFile, KnowsAgainWhatACheckpointWrote) {
  const std::vector<PageId> ids = {At(kSpace, 0), At(kSpace, kPagesPerChunk - 1),
                                   At(kSpace, kPagesPerChunk), At(kOther, 123456)};
  for (size_t i = 0; i < ids.size(); ++i) versions_->Note(ids[i], Lsn(100 + i));
  Checkpoint();
  versions_->Note(ids[0], Lsn(900));  // after the checkpoint: not known any more
  ASSERT_TRUE(Reopen().ok());
  for (size_t i = 0; i < ids.size(); ++i) EXPECT_EQ(Expected(ids[i]), 100 + i) << i;
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  EXPECT_EQ(Expected(At(SpaceId(99), 1)), 0u);
  EXPECT_TRUE(versions_->IsStale(ids[0], Lsn(99)));
  EXPECT_FALSE(versions_->IsStale(ids[0], Lsn(100)));
}

TEST_F(PageVersionsFile, WritesOnlyWhatChanged) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  versions_->Note(At(kOther, 1), Lsn(10));
  Checkpoint();
  const uint64_t writes = fs_.Calls(FileCall::kWrite);
  const uint64_t syncs = fs_.Calls(FileCall::kSync);
  Checkpoint();
  EXPECT_EQ(fs_.Calls(FileCall::kWrite), writes);
  EXPECT_EQ(fs_.Calls(FileCall::kSync), syncs) << "nothing changed, so nothing to sync";
  versions_->Note(At(kOther, 2), Lsn(11));
  versions_->Note(At(kOther, 3), Lsn(12));
  Checkpoint();
  EXPECT_EQ(fs_.Calls(FileCall::kWrite), writes + 1);
}

TEST_F(PageVersionsFile, ADamagedNewerSlotFallsBackToTheOlderOneAndIsNamed) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  versions_->Note(At(kSpace, 1), Lsn(20));
  versions_->Note(At(kSpace, 400), Lsn(21));  // behind the first sector
  Checkpoint();
  const std::vector<std::byte> newer = Slot(1);
  std::vector<std::byte> torn = newer;
  std::fill(torn.begin() + 512, torn.end(), std::byte{0});
  std::vector<std::byte> rotten = newer;
  rotten[3000] ^= std::byte{4};
  for (const auto& slot : {torn, rotten}) {
    SetSlot(1, slot);
    LogCapture log;
    ASSERT_TRUE(Reopen().ok());
    EXPECT_EQ(Expected(At(kSpace, 1)), 10u);
    EXPECT_EQ(Expected(At(kSpace, 400)), 0u);
    EXPECT_TRUE(log.Has("'/instance/rowan.versions': 1 blocks are damaged")) << log.Text();
    EXPECT_TRUE(log.Has("offset 4096")) << log.Text();
    // The good slot stays; the damaged one is written next.
    const std::vector<std::byte> older = Slot(0);
    versions_->Note(At(kSpace, 1), Lsn(30));
    Checkpoint();
    EXPECT_EQ(Slot(0), older);
    ASSERT_TRUE(Reopen().ok());
    EXPECT_EQ(Expected(At(kSpace, 1)), 30u);
  }
}

TEST_F(PageVersionsFile, ASlotThatRotsWhileInUseIsFoundByTheCheckAndWrittenAnew) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  EXPECT_EQ(versions_->Check(kSpace).value(), 0u);
  ASSERT_TRUE(fs_.FlipBit(Path(), 2000, 3));
  LogCapture log;
  EXPECT_EQ(versions_->Check(kOther).value(), 0u);
  EXPECT_EQ(versions_->Check(kSpace).value(), 1u);
  EXPECT_TRUE(log.Has("'/instance/rowan.versions': the block at offset 0 is damaged"));
  Checkpoint();
  EXPECT_EQ(versions_->Check(kSpace).value(), 0u);
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 10u);
}

TEST_F(PageVersionsFile, DroppedSpacesAreForgottenAndTheirSlotsUsedAgain) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  versions_->Note(At(kSpace, 1), Lsn(11));
  const PageVersions::Copies underway = versions_->CopyChanged();
  ASSERT_TRUE(files_.Drop(kSpace).ok());
  versions_->Forget(kSpace);
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  EXPECT_EQ(versions_->MemoryBytes(), 0u);
  versions_->Note(At(kSpace, 2), Lsn(12));  // a write that was under way
  EXPECT_EQ(versions_->MemoryBytes(), 0u);
  ASSERT_TRUE(versions_->Write(underway).ok());
  auto file = fs_.Open(Path(), {});
  const uint64_t size = (*file)->Size().value();
  for (uint32_t i = 0; i < size / kVersionsSlotBytes / 2; ++i) {
    versions_->Note(At(kOther, i * kPagesPerChunk), Lsn(50 + i));
  }
  Checkpoint();
  EXPECT_EQ((*file)->Size().value(), size) << "the pair of the dropped space is used again";
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  EXPECT_EQ(Expected(At(kOther, 0)), 50u);
}

TEST_F(PageVersionsFile, WhatIsMissingOrForeignIsNotBelievedAndNewerIsRefused) {
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  LogCapture log;
  ASSERT_TRUE(Reopen({.instance = 8, .expected = true}).ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
  EXPECT_TRUE(log.Has("1 blocks belong to another instance")) << log.Text();

  std::vector<std::byte> slot = Slot(0);
  StoreLe<uint32_t>(slot.data() + 8, 99);
  SetSlot(0, slot, true);
  EXPECT_TRUE(Reopen().Is(Code::kNewerFormat));
  EXPECT_TRUE(log.Has("'/instance/rowan.versions' was written by a newer version")) << log.Text();

  log.Clear();
  ASSERT_TRUE(fs_.Remove(Path()).ok());
  ASSERT_TRUE(Reopen({.instance = 7, .expected = false}).ok());
  EXPECT_EQ(log.Text(), "") << "a new instance has none yet";
  ASSERT_TRUE(fs_.Remove(Path()).ok());
  ASSERT_TRUE(Reopen().ok());
  EXPECT_TRUE(log.Has("'/instance/rowan.versions' is missing")) << log.Text();
  EXPECT_EQ(Expected(At(kSpace, 1)), 0u);
}

TEST_F(PageVersionsFile, AFullDiskKeepsItFromGrowingOnly) {
  LogCapture log;
  fs_.Inject({.call = FileCall::kAllocate, .path_part = kVersionsFileName, .code = Code::kNoSpace});
  versions_->Note(At(kSpace, 1), Lsn(10));
  Checkpoint();
  EXPECT_TRUE(log.Has("too full for '/instance/rowan.versions'")) << log.Text();
  Checkpoint();  // tried again
  ASSERT_TRUE(Reopen().ok());
  EXPECT_EQ(Expected(At(kSpace, 1)), 10u);
}

/// Old states of pages at home, under a pool that has to notice.
class StalePage : public ::testing::Test {
 protected:
  void SetUp() override {
    harness_.Create();
    ASSERT_TRUE(harness_.pool().SetDoublewriteMode(DoublewriteMode::kOff).ok());
    ASSERT_TRUE(Change(5).ok());
    old_ = harness_.ReadHome(5);
    ASSERT_TRUE(Change(5).ok());
  }
  Status Change(uint32_t page) {
    const Result<Lsn> end = harness_.Add(page, 1);
    return end.ok() ? harness_.pool().FlushAndCheckpoint() : end.status();
  }
  /// Pages 1 to 9 come from disk at their next use.
  void EvictAll() {
    for (uint32_t i = 10; i < 250; ++i) {
      ASSERT_TRUE(harness_.Read(i).ok());
    }
  }

  FaultFileSystem fs_{TestSeed()};
  PoolHarness harness_{&fs_, {.pool_pages = 32}};
  std::vector<std::byte> old_;
};

TEST_F(StalePage, IsReportedByNameAtRunTimeAndAfterRestarts) {
  harness_.WriteHome(5, old_);
  EvictAll();
  LogCapture log;
  const uint64_t before = ReadCounter(Counter::kStalePages);
  EXPECT_TRUE(harness_.Read(5).status().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("Page 5 of /instance/space_16.rws is damaged: it is older than its last "
                      "write (LSN ")) << log.Text();
  EXPECT_EQ(ReadCounter(Counter::kStalePages), before + 1);
  for (int start = 0; start < 2; ++start) {
    ASSERT_TRUE(harness_.Start().ok());
    EXPECT_TRUE(harness_.Read(5).status().Is(Code::kCorrupt));
    EXPECT_EQ(harness_.Read(6).value(), 0u);
  }
}

TEST_F(StalePage, OfADroppedOrMisdirectedWriteIsReported) {
  fs_.Inject({.call = FileCall::kWrite, .path_part = "space_16",
              .effect = InjectedFault::Effect::kDropWrite});
  ASSERT_TRUE(Change(7).ok());
  fs_.Inject({.call = FileCall::kWrite, .path_part = "space_16",
              .effect = InjectedFault::Effect::kMisdirectWrite,
              .misdirect_bytes = TestPageSizeBytes()});
  ASSERT_TRUE(Change(8).ok());
  fs_.ClearFaults();
  EvictAll();
  EXPECT_TRUE(harness_.Read(7).status().Is(Code::kCorrupt)) << "dropped";
  EXPECT_TRUE(harness_.Read(8).status().Is(Code::kCorrupt)) << "went elsewhere";
  EXPECT_TRUE(harness_.Read(9).status().Is(Code::kCorrupt)) << "was overwritten";
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
  old_ = harness_.ReadHome(5);
  ASSERT_TRUE(Change(5).ok());
  harness_.WriteHome(5, old_);
  auto file = fs_.Open("/instance/rowan.control", {});
  ASSERT_TRUE((*file)->Write(0, control).ok());  // the crash came before the last checkpoints
  ASSERT_TRUE(harness_.Start().ok());
  EXPECT_EQ(harness_.Read(5).value(), 4u);
}

TEST_F(StalePage, ThatTheLogCannotBringUpToDateIsNoBaseForRedo) {
  ASSERT_TRUE(harness_.Add(5, 1).ok());
  ASSERT_TRUE(harness_.log().WaitDurable(harness_.log().tail()).ok());
  harness_.WriteHome(5, old_);
  LogCapture log;
  EXPECT_TRUE(harness_.Start().Is(Code::kCorrupt));
  EXPECT_TRUE(log.Has("Page 5 of /instance/space_16.rws is damaged: it is older")) << log.Text();
}

TEST_F(StalePage, IsNoMatterIfRedoDefinesItAnew) {
  ASSERT_TRUE(harness_.Init(5, 77).ok());
  ASSERT_TRUE(harness_.log().WaitDurable(harness_.log().tail()).ok());
  harness_.WriteHome(5, old_);
  ASSERT_TRUE(harness_.Start().ok());
  EXPECT_EQ(harness_.Read(5).value(), 77u);
}

TEST_F(StalePage, FailuresOfTheFileStopTheEngineBeforeTheCheckpointMoves) {
  for (const FileCall call : {FileCall::kWrite, FileCall::kSync}) {
    ASSERT_TRUE(harness_.Start().ok());
    const Lsn checkpoint = harness_.control().data().checkpoint_lsn;
    ASSERT_TRUE(harness_.Add(9, 1).ok());
    fs_.Inject({.call = call, .path_part = kVersionsFileName});
    EXPECT_TRUE(harness_.pool().FlushAndCheckpoint().Is(Code::kStopped));
    EXPECT_TRUE(harness_.stopped_once());
    EXPECT_EQ(harness_.control().data().checkpoint_lsn, checkpoint);
    fs_.ClearFaults();
  }
}

}  // namespace
}  // namespace rowan
