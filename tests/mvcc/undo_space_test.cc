// SPDX-License-Identifier: GPL-2.0-only
// The undo space gives what it does not need back to the file system, and takes it again.
#include <gtest/gtest.h>

#include "base/logging.h"
#include "base/random.h"
#include "tests/mvcc/undo_world.h"

namespace rowan {
namespace {

constexpr uint32_t kPageBytes = 4096;
constexpr char kFile[] = "/instance/space_2.rws";
constexpr uint64_t kMiB = uint64_t{1} << 20;
/// 12 records fill a page, 256 pages an extent of 1 MiB.
constexpr uint64_t kRecordsPerExtent = uint64_t{12} * 256;
constexpr uint32_t kKeepPages = 64;

class UndoSpaceTest : public ::testing::Test {
 protected:
  UndoSpaceTest() : world_(1, kPageBytes) {}
  void SetUp() override { world_.Create(); }

  static void WriteExtents(UndoWorld* world, Txn* txn, uint64_t extents) {
    for (uint64_t i = 0; i < extents * kRecordsPerExtent; ++i) {
      const Status status = world->Write(txn, 8, i + 1);
      if (!status.ok()) return;  // the power is off
    }
  }
  void WriteAndPurge(uint64_t extents) {
    Txn txn;
    WriteExtents(&world_, &txn, extents);
    ASSERT_TRUE(world_.manager().Commit(&txn, Durability::kDurable, true).ok());
    world_.Purge();
    ASSERT_EQ(world_.manager().HistoryLength(), 0u);
  }
  static Result<uint32_t> GiveAllBack(UndoWorld* world) {
    uint32_t all = 0;
    for (;;) {
      const Result<uint32_t> made = world->allocator().GiveBack(kUndoSpace, kKeepPages, 2);
      if (!made.ok()) return made;
      if (made.value() == 0) return all;
      all += made.value();
    }
  }

  UndoWorld world_;
};

TEST_F(UndoSpaceTest, AHugeTransactionLeavesNothingBehindOnTheDisk) {
  WriteAndPurge(6);
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  const uint64_t before = world_.file_system().AllocatedBytes(kFile);
  EXPECT_GT(before, 4 * kMiB);
  const Result<uint32_t> made = GiveAllBack(&world_);
  ASSERT_TRUE(made.ok()) << made.status().message();
  EXPECT_GE(made.value(), 4u);
  EXPECT_LT(world_.file_system().AllocatedBytes(kFile), 2 * kMiB);
  world_.CheckAll();
  // What was given back is used before the file grows.
  const uint64_t file_pages = world_.undo().Statistics().file_pages;
  WriteAndPurge(5);
  EXPECT_LE(world_.undo().Statistics().file_pages, file_pages + 256);
  world_.CheckAll();
}

TEST_F(UndoSpaceTest, WhatIsInUseStays) {
  Txn txn;
  WriteExtents(&world_, &txn, 3);
  const Result<uint32_t> made = GiveAllBack(&world_);
  ASSERT_TRUE(made.ok());
  EXPECT_LE(made.value(), 2u);
  world_.CheckAll();
  ASSERT_TRUE(world_.manager().Rollback(&txn).ok());
  EXPECT_EQ(world_.Cell(8), 0u);
  ASSERT_TRUE(GiveAllBack(&world_).ok());
  world_.CheckAll();
}

TEST_F(UndoSpaceTest, AFullDiskIsMetByWhoeverReserves) {
  WriteAndPurge(5);
  ASSERT_TRUE(GiveAllBack(&world_).ok());
  world_.file_system().Inject({.call = FileCall::kAllocate, .path_part = "space_2",
                               .lasting = true, .code = Code::kNoSpace});
  Txn txn;
  Status status;
  uint64_t writes = 0;
  for (; status.ok() && writes < 5 * kRecordsPerExtent; ++writes) {
    status = world_.Write(&txn, 8, 7);
  }
  EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  world_.file_system().ClearFaults();
  ASSERT_TRUE(world_.manager().Rollback(&txn).ok());
  Txn again;
  WriteExtents(&world_, &again, 2);
  ASSERT_TRUE(world_.manager().Commit(&again, Durability::kDurable, true).ok());
  world_.CheckAll();
}

TEST_F(UndoSpaceTest, AFileSystemWithoutHolesIsAskedOnceAndUsedAsBefore) {
  WriteAndPurge(4);
  world_.file_system().Inject(
      {.call = FileCall::kPunch, .lasting = true, .code = Code::kUnsupported});
  EXPECT_TRUE(GiveAllBack(&world_).status().Is(Code::kUnsupported));
  const uint64_t file_pages = world_.undo().Statistics().file_pages;
  WriteAndPurge(3);
  EXPECT_LE(world_.undo().Statistics().file_pages, file_pages + 256);
  world_.CheckAll();
}

TEST_F(UndoSpaceTest, AfterARestartTheFreeSpaceIsGivenBackAndUsed) {
  WriteAndPurge(5);
  ASSERT_TRUE(world_.manager().MakeDurable().ok());
  ASSERT_TRUE(world_.Start(true).ok());
  const uint64_t file_pages = world_.undo().Statistics().file_pages;
  WriteAndPurge(2);
  EXPECT_EQ(world_.undo().Statistics().file_pages, file_pages);
  const Result<uint32_t> made = GiveAllBack(&world_);
  ASSERT_TRUE(made.ok());
  EXPECT_GE(made.value(), 3u);
  EXPECT_LT(world_.file_system().AllocatedBytes(kFile), 3 * kMiB);
  world_.CheckAll();
}

TEST_F(UndoSpaceTest, AHoleIsMadeOnlyWhenItsFreeingIsDurable) {
  Txn txn;
  WriteExtents(&world_, &txn, 4);
  ASSERT_TRUE(world_.manager().Commit(&txn, Durability::kDurable, true).ok());
  // From here on redo does not make the pages anew.
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  world_.Purge();
  const Result<uint32_t> made = GiveAllBack(&world_);
  ASSERT_TRUE(made.ok());
  ASSERT_GE(made.value(), 2u);
  world_.Kill();
  world_.file_system().Crash({.keep = CrashPlan::Keep::kEverything}, 1);
  const Status status = world_.Start(true);
  ASSERT_TRUE(status.ok()) << status.message();
  world_.CheckAll();
  world_.Purge();
  EXPECT_EQ(world_.manager().HistoryLength(), 0u);
  world_.CheckAll();
}

/// Transactions, purge, holes and crashes in any order; the committed value of a cell is right and
/// no page is lost or in use twice.
void RunCrashes(uint64_t seed) {
  SCOPED_TRACE(seed);
  Random random(seed);
  UndoWorld world(seed, kPageBytes);
  world.Create();
  uint64_t committed = 0;
  uint64_t next = 0;
  for (int crash = 0; crash < 4; ++crash) {
    world.file_system().PowerOffAfter(random.Between(10, 2500));
    uint64_t in_doubt = committed;
    for (int round = 0; round < 6; ++round) {
      Txn txn;
      const uint64_t records = random.Between(1, kRecordsPerExtent * 3);
      Status status;
      for (uint64_t i = 0; i < records && status.ok(); ++i) status = world.Write(&txn, 8, ++next);
      if (status.ok() && random.OneIn(3)) {
        status = world.manager().Rollback(&txn);
      } else if (status.ok()) {
        in_doubt = next;
        status = world.manager().Commit(&txn, Durability::kDurable, true);
        if (status.ok()) committed = in_doubt;
      }
      while (status.ok() && world.manager().HistoryLength() != 0 && !random.OneIn(50)) {
        status = world.PurgeUnit(0, 1, 500).status();
      }
      if (status.ok()) status = world.allocator().GiveBack(kUndoSpace, kKeepPages, 2).status();
      if (status.ok() && random.OneIn(3)) status = world.pool().FlushAndCheckpoint();
      if (!status.ok()) {
        static_cast<void>(world.manager().Rollback(&txn));
        break;
      }
    }
    world.Kill();
    world.file_system().Crash(random.Next());
    const Status status = world.Start(true);
    ASSERT_TRUE(status.ok()) << status.message() << world.file_system().Describe();
    world.RollBackLosers();
    ASSERT_TRUE(world.Cell(8) == committed || world.Cell(8) == in_doubt)
        << world.Cell(8) << " is neither " << committed << " nor " << in_doubt;
    committed = world.Cell(8);
    world.CheckAll();
    world.Purge();
    ASSERT_TRUE(world.allocator().GiveBack(kUndoSpace, kKeepPages, 2).ok());
    world.CheckAll();
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
}  // namespace rowan
