// SPDX-License-Identifier: GPL-2.0-only
// The undo space gives what it does not need back to the file system, and takes it again.
#include <gtest/gtest.h>

#include "base/logging.h"
#include "base/random.h"
#include "tests/mvcc/undo_fixture.h"

namespace rowan::undo_space_test {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr char kFile[] = "/instance/space_2.rws";
constexpr uint64_t kMiB = uint64_t{1} << 20;
/// 12 records fill a page, 256 pages an extent of 1 MiB.
constexpr uint64_t kRecordsPerExtent = uint64_t{12} * 256;
constexpr uint32_t kKeepPages = 64;

class UndoSpaceTest : public ::testing::Test {
 protected:
  UndoSpaceTest() : fixture_(1, kPageBytes) {}
  void SetUp() override { fixture_.Create(); }

  static void WriteExtents(UndoFixture* fixture, Txn* txn, uint64_t extents) {
    for (uint64_t i = 0; i < extents * kRecordsPerExtent; ++i) {
      const Status status = fixture->Write(txn, 8, i + 1);
      if (!status.ok()) return;  // the power is off
    }
  }
  void WriteAndPurge(uint64_t extents) {
    Txn txn;
    WriteExtents(&fixture_, &txn, extents);
    ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kDurable, true).ok());
    fixture_.Purge();
    ASSERT_EQ(fixture_.manager().HistoryLength(), 0u);
  }
  static Result<uint32_t> GiveAllBack(UndoFixture* fixture) {
    uint32_t all = 0;
    for (;;) {
      const Result<uint32_t> made = fixture->allocator().GiveBack(kUndoSpace, kKeepPages, 2);
      if (!made.ok()) return made;
      if (made.value() == 0) return all;
      all += made.value();
    }
  }

  UndoFixture fixture_;
};

TEST_F(UndoSpaceTest, AHugeTransactionLeavesNothingBehindOnTheDisk) {
  WriteAndPurge(6);
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  const uint64_t before = fixture_.file_system().AllocatedBytes(kFile);
  EXPECT_GT(before, 4 * kMiB);
  const Result<uint32_t> made = GiveAllBack(&fixture_);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_GE(made.value(), 4u);
  EXPECT_LT(fixture_.file_system().AllocatedBytes(kFile), 2 * kMiB);
  fixture_.CheckAll();
  // What was given back is used before the file grows.
  const uint64_t file_pages = fixture_.undo().Statistics().file_pages;
  WriteAndPurge(5);
  EXPECT_LE(fixture_.undo().Statistics().file_pages, file_pages + 256);
  fixture_.CheckAll();
}

TEST_F(UndoSpaceTest, WhatIsInUseStays) {
  Txn txn;
  WriteExtents(&fixture_, &txn, 3);
  const Result<uint32_t> made = GiveAllBack(&fixture_);
  ASSERT_TRUE(made.ok());
  EXPECT_LE(made.value(), 2u);
  fixture_.CheckAll();
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_EQ(fixture_.Cell(8), 0u);
  ASSERT_TRUE(GiveAllBack(&fixture_).ok());
  fixture_.CheckAll();
}

TEST_F(UndoSpaceTest, AFullDiskIsMetByWhoeverReserves) {
  WriteAndPurge(5);
  ASSERT_TRUE(GiveAllBack(&fixture_).ok());
  fixture_.file_system().Inject({.call = FileCall::kAllocate,
                                 .path_part = "space_2",
                                 .lasting = true,
                                 .code = Code::kNoSpace});
  Txn txn;
  Status status;
  uint64_t writes = 0;
  for (; status.ok() && writes < 5 * kRecordsPerExtent; ++writes) {
    status = fixture_.Write(&txn, 8, 7);
  }
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  fixture_.file_system().ClearFaults();
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  Txn again;
  WriteExtents(&fixture_, &again, 2);
  ASSERT_TRUE(fixture_.manager().Commit(&again, Durability::kDurable, true).ok());
  fixture_.CheckAll();
}

TEST_F(UndoSpaceTest, AFileSystemWithoutHolesIsAskedOnceAndUsedAsBefore) {
  WriteAndPurge(4);
  fixture_.file_system().Inject(
      {.call = FileCall::kPunch, .lasting = true, .code = Code::kUnsupported});
  EXPECT_TRUE(GiveAllBack(&fixture_).status().Is(Code::kUnsupported));
  const uint64_t file_pages = fixture_.undo().Statistics().file_pages;
  WriteAndPurge(3);
  EXPECT_LE(fixture_.undo().Statistics().file_pages, file_pages + 256);
  fixture_.CheckAll();
}

TEST_F(UndoSpaceTest, AfterARestartTheFreeSpaceIsGivenBackAndUsed) {
  WriteAndPurge(5);
  ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
  ASSERT_TRUE(fixture_.Start(true).ok());
  const uint64_t file_pages = fixture_.undo().Statistics().file_pages;
  WriteAndPurge(2);
  EXPECT_EQ(fixture_.undo().Statistics().file_pages, file_pages);
  const Result<uint32_t> made = GiveAllBack(&fixture_);
  ASSERT_TRUE(made.ok());
  EXPECT_GE(made.value(), 3u);
  EXPECT_LT(fixture_.file_system().AllocatedBytes(kFile), 3 * kMiB);
  fixture_.CheckAll();
}

TEST_F(UndoSpaceTest, AHoleIsMadeOnlyWhenItsFreeingIsDurable) {
  Txn txn;
  WriteExtents(&fixture_, &txn, 4);
  ASSERT_TRUE(fixture_.manager().Commit(&txn, Durability::kDurable, true).ok());
  // From here on redo does not make the pages anew.
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  fixture_.Purge();
  const Result<uint32_t> made = GiveAllBack(&fixture_);
  ASSERT_TRUE(made.ok());
  ASSERT_GE(made.value(), 2u);
  fixture_.Kill();
  fixture_.file_system().Crash({.keep = CrashPlan::Keep::kEverything}, 1);
  const Status status = fixture_.Start(true);
  ASSERT_TRUE(status.ok()) << status.message();
  fixture_.CheckAll();
  fixture_.Purge();
  EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
  fixture_.CheckAll();
}

/// Transactions, purge, holes and crashes in any order; the committed value of a cell is right and
/// no page is lost or in use twice.
void RunCrashes(uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  UndoFixture fixture(seed, kPageBytes);
  fixture.Create();
  uint64_t committed = 0;
  uint64_t next = 0;
  for (int crash = 0; crash < 4; ++crash) {
    fixture.file_system().PowerOffAfter(random.Between(10, 2500));
    uint64_t in_doubt = committed;
    for (int round = 0; round < 6; ++round) {
      Txn txn;
      const uint64_t records = random.Between(1, kRecordsPerExtent * 3);
      Status status;
      for (uint64_t i = 0; i < records && status.ok(); ++i) status = fixture.Write(&txn, 8, ++next);
      if (status.ok() && random.OneIn(3)) {
        status = fixture.manager().Rollback(&txn);
      } else if (status.ok()) {
        in_doubt = next;
        status = fixture.manager().Commit(&txn, Durability::kDurable, true);
        if (status.ok()) committed = in_doubt;
      }
      while (status.ok() && fixture.manager().HistoryLength() != 0 && !random.OneIn(50)) {
        status = fixture.PurgeUnit(0, 1, 500).status();
      }
      if (status.ok()) status = fixture.allocator().GiveBack(kUndoSpace, kKeepPages, 2).status();
      if (status.ok() && random.OneIn(3)) status = fixture.pool().FlushAndCheckpoint();
      if (!status.ok()) {
        static_cast<void>(fixture.manager().Rollback(&txn));
        break;
      }
    }
    fixture.Kill();
    fixture.file_system().Crash(random.Next());
    const Status status = fixture.Start(true);
    ASSERT_TRUE(status.ok()) << status.message() << fixture.file_system().Describe();
    fixture.RollBackLosers();
    ASSERT_TRUE(fixture.Cell(8) == committed || fixture.Cell(8) == in_doubt)
        << fixture.Cell(8) << " is neither " << committed << " nor " << in_doubt;
    committed = fixture.Cell(8);
    fixture.CheckAll();
    fixture.Purge();
    ASSERT_TRUE(fixture.allocator().GiveBack(kUndoSpace, kKeepPages, 2).ok());
    fixture.CheckAll();
  }
}

TEST(UndoSpaceCrashTest, HolesAndPowerCuts) {
  SetLogSink([](LogLevel, std::string_view) {});
  const uint64_t rounds = TestSetting("ROWAN_TEST_ROUNDS", 6);
  for (uint64_t round = 0; round < rounds && !::testing::Test::HasFailure(); ++round) {
    RunCrashes(TestSeed() + round);
  }
  SetLogSink({});
}

}  // namespace
}  // namespace rowan::undo_space_test
