// SPDX-License-Identifier: GPL-2.0-only
// Purge and rollback in units that stop behind any record, across restarts and power cuts; what a
// start reads of the undo space; and streams written before pages had summaries.
#include <gtest/gtest.h>

#include <algorithm>
#include <thread>
#include <vector>

#include "base/counters.h"
#include "base/logging.h"
#include "buffer/buffer_redo.h"
#include "mvcc/undo/undo_page.h"
#include "tests/mvcc/undo_world.h"

namespace rowan {
namespace {

/// Every record is of a padded cell: some 330 bytes, so 12 of them fill a page of 4 KiB.
constexpr uint32_t kPageBytes = 4096;
constexpr uint64_t kRecords = 300;

class UndoResumeTest : public ::testing::Test {
 protected:
  UndoResumeTest() : world_(1, kPageBytes) {}
  void SetUp() override { world_.Create(); }
  void WriteMany(Txn* txn, uint32_t cell, uint64_t count = kRecords) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(world_.Write(txn, cell, i + 1).ok());
  }
  void Commit(Txn* txn) {
    ASSERT_TRUE(world_.manager().Commit(txn, Durability::kDurable, true).ok());
  }
  void KillAndStart(bool background = false) {
    ASSERT_TRUE(world_.manager().MakeDurable().ok());
    const Status status = world_.Start(background);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// All that is left of the undo space: one page a stream.
  void ExpectNothingLeft() {
    EXPECT_EQ(world_.manager().HistoryLength(), 0u);
    EXPECT_EQ(world_.undo().Statistics().pages, world_.undo().stream_count());
    world_.CheckAll();
  }
  /// As an instance of before: one stream, whose pages have no summaries, and bare slots.
  void MakeBare();

  UndoWorld world_;
};

TEST_F(UndoResumeTest, PurgeStopsBehindAnyRecordAndGoesOnThere) {
  for (const uint64_t records : {1u, 7u, 64u, 1000u}) {
    Txn txn;
    WriteMany(&txn, 8);
    Commit(&txn);
    world_.purged.clear();
    uint64_t units = 0;
    for (; world_.manager().HistoryLength() != 0; ++units) {
      ASSERT_TRUE(world_.PurgeUnit(0, 1, records).value());
      ASSERT_LE(world_.purged.size(), (units + 1) * records);
      if (units % 16 == 0) world_.CheckAll();
    }
    EXPECT_EQ(world_.purged.size(), kRecords);
    EXPECT_GE(units, kRecords / records);
    ExpectNothingLeft();
  }
}

TEST_F(UndoResumeTest, PurgeGoesOnInsideATransactionAfterARestart) {
  Txn txn;
  WriteMany(&txn, 8);
  Commit(&txn);
  const uint64_t pages = world_.undo().Statistics().pages;
  uint64_t purged = 0;
  uint64_t restarts = 0;
  while (world_.manager().HistoryLength() != 0) {
    ASSERT_TRUE(world_.PurgeUnit(0, 1, 40).ok());
    purged += world_.purged.size();
    EXPECT_EQ(world_.manager().HistoryLength() == 0, world_.purged.back() == "8=299");
    KillAndStart();
    world_.CheckAll();
    ASSERT_LT(++restarts, kRecords) << "purge begins again and again";
    EXPECT_LT(world_.undo().Statistics().pages, pages);
  }
  EXPECT_LE(purged, kRecords + restarts * 12);
  EXPECT_EQ(world_.Cell(8), kRecords);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, RollbackStopsBehindAnyRecordAndGoesOnAfterARestart) {
  Txn txn;
  ASSERT_TRUE(world_.Write(&txn, 3, 7).ok());
  WriteMany(&txn, 8);
  const TxnId id = txn.txn_id();
  KillAndStart();
  for (uint64_t left = kRecords; left > 0; left -= std::min<uint64_t>(left, 13)) {
    ASSERT_EQ(world_.manager().Describe().size(), 1u);
    EXPECT_EQ(world_.manager().Describe()[0].undo_records, left + 1);
    EXPECT_TRUE(world_.manager().IsActive(id));
    EXPECT_EQ(world_.Cell(8), left);
    ASSERT_TRUE(world_.RollbackUnit(13).value());
    world_.CheckAll();
    if (left % 2 == 0) KillAndStart();
  }
  EXPECT_EQ(world_.manager().LoserCount(), 0u);
  EXPECT_FALSE(world_.manager().IsActive(id));
  EXPECT_EQ(world_.Cell(3), 0u);
  EXPECT_EQ(world_.Cell(8), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, ARaisedFlagStopsBothAtTheNextRecord) {
  Txn committed;
  WriteMany(&committed, 8);
  Commit(&committed);
  Txn loser;
  WriteMany(&loser, 16);
  KillAndStart();
  std::atomic<bool> stop{false};
  uint64_t undone = 0;
  world_.on_undo = [&](const UndoRecordCopy&) {
    stop.store(++undone == 5);
    return Status::Ok();
  };
  WorkBudget rollback(UINT64_MAX, &stop);
  ASSERT_TRUE(world_.manager().RollbackSome(&rollback).ok());
  EXPECT_EQ(undone, 5u);
  EXPECT_EQ(world_.Cell(16), kRecords - 5);
  WorkBudget purge(UINT64_MAX, &stop);
  ASSERT_TRUE(world_.manager().PurgeSome(0, 1, &purge).ok());
  EXPECT_TRUE(world_.purged.empty());
  world_.CheckAll();
}

TEST_F(UndoResumeTest, LosersAreRolledBackByAnyNumberOfWorkers) {
  constexpr uint32_t kLosers = 6;
  {
    std::vector<Txn> losers(kLosers);
    for (uint32_t i = 0; i < kLosers; ++i) WriteMany(&losers[i], 8 * (i + 1), 80);
    ASSERT_TRUE(world_.manager().MakeDurable().ok());
    world_.Kill();
  }
  ASSERT_TRUE(world_.Start(true).ok());
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 3; ++worker) {
    workers.emplace_back([this] {
      while (world_.manager().LoserCount() != 0) ASSERT_TRUE(world_.RollbackUnit(9).ok());
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (uint32_t i = 0; i < kLosers; ++i) EXPECT_EQ(world_.Cell(8 * (i + 1)), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, AShutdownLeavesALongRollbackToTheNextStart) {
  constexpr uint64_t kMany = 3000;  // several looks at the sign
  Txn txn;
  ASSERT_TRUE(world_.Write(&txn, 3, 7).ok());
  const UndoPosition before = world_.manager().Savepoint(&txn);
  WriteMany(&txn, 9, kMany);
  const TxnId id = txn.txn_id();
  UndoWorld::shutting_down = true;
  EXPECT_TRUE(world_.manager().RollbackTo(&txn, before).Is(Code::kInterrupted));
  const uint64_t left = world_.Cell(9);
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, kMany);
  // Half of the statement is there: it must not become durable by any way.
  EXPECT_TRUE(world_.manager().Commit(&txn, Durability::kDurable, true).Is(Code::kInterrupted));
  EXPECT_TRUE(world_.manager().Prepare(&txn, AsBytes("x")).Is(Code::kInterrupted));
  EXPECT_TRUE(world_.manager().Rollback(&txn).ok());
  EXPECT_GT(world_.Cell(9), 0u);
  EXPECT_LT(world_.Cell(9), left);
  EXPECT_TRUE(world_.manager().IsActive(id));  // its rows stay locked
  Txn shorter;
  WriteMany(&shorter, 10, 10);
  EXPECT_TRUE(world_.manager().Rollback(&shorter).ok());
  EXPECT_EQ(world_.Cell(10), 0u);
  KillAndStart();
  world_.RollBackLosers();
  EXPECT_EQ(world_.Cell(3), 0u);
  EXPECT_EQ(world_.Cell(9), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, AShutdownLeavesTheRollbackOfAPreparedTransaction) {
  Txn txn;
  WriteMany(&txn, 9, 3000);
  ASSERT_TRUE(world_.manager().Prepare(&txn, AsBytes("x")).ok());
  UndoWorld::shutting_down = true;
  // The coordinator forgets it behind this.
  ASSERT_TRUE(world_.manager().Rollback(&txn).ok());
  EXPECT_GT(world_.Cell(9), 0u);
  const Status status = world_.Start();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(world_.manager().PreparedXids().empty());
  EXPECT_EQ(world_.manager().LoserCount(), 1u);
  world_.RollBackLosers();
  EXPECT_EQ(world_.Cell(9), 0u);
  ExpectNothingLeft();
}

/// Cuts the power at every change that `work` makes, from `begin` on, and looks at what is left.
template <typename Begin, typename Work, typename Finish>
void CutEverywhere(Begin begin, Work work, Finish finish) {
  SetLogSink([](LogLevel, std::string_view) {});
  const uint64_t step = TestSetting("ROWAN_TEST_ROUNDS", 25) >= 1000 ? 1 : 7;
  bool done = false;
  for (uint64_t changes = 1; !done; changes += step) {
    SCOPED_TRACE(changes);
    UndoWorld world(TestSeed() + changes, kPageBytes);
    world.Create();
    begin(&world);
    if (::testing::Test::HasFatalFailure()) return;
    world.file_system().PowerOffAfter(changes);
    done = work(&world);
    world.Kill();
    world.file_system().Crash(changes);
    const Status status = world.Start();
    ASSERT_TRUE(status.ok()) << status.message() << world.file_system().Describe();
    finish(&world);
    if (::testing::Test::HasFailure()) return;
  }
  SetLogSink({});
}

/// Small units with the log made durable in between, so that there are many different cuts.
template <typename Unit>
bool WorkInUnits(UndoWorld* world, Unit unit) {
  for (;;) {
    const Result<bool> more = unit();
    if (!more.ok() || !world->manager().MakeDurable().ok()) return false;
    if (!more.value()) return true;
  }
}

TEST_F(UndoResumeTest, APowerCutAnywhereInARollback) {
  CutEverywhere(
      [](UndoWorld* world) {
        Txn txn;
        for (uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(world->Write(&txn, 8, i + 1).ok());
        ASSERT_TRUE(world->manager().MakeDurable().ok());
        ASSERT_TRUE(world->Start().ok());
      },
      [](UndoWorld* world) {
        return WorkInUnits(world, [world] { return world->RollbackUnit(5); });
      },
      [](UndoWorld* world) {
        world->CheckAll();
        world->RollBackLosers();
        EXPECT_EQ(world->Cell(8), 0u);
        EXPECT_EQ(world->undo().Statistics().pages, 1u);
        world->CheckAll();
      });
}

TEST_F(UndoResumeTest, APowerCutAnywhereInAPurge) {
  CutEverywhere(
      [](UndoWorld* world) {
        for (int transaction = 0; transaction < 3; ++transaction) {
          Txn txn;
          for (uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(world->Write(&txn, 8, i + 1).ok());
          ASSERT_TRUE(world->manager().Commit(&txn, Durability::kDurable, true).ok());
        }
      },
      [](UndoWorld* world) {
        return WorkInUnits(world, [world] { return world->PurgeUnit(0, 1, 10); });
      },
      [](UndoWorld* world) {
        world->CheckAll();
        EXPECT_LE(world->manager().HistoryLength(), 3u);
        world->Purge();
        EXPECT_EQ(world->Cell(8), 120u);
        EXPECT_EQ(world->manager().HistoryLength(), 0u);
        EXPECT_EQ(world->undo().Statistics().pages, 1u);
        world->CheckAll();
      });
}

TEST_F(UndoResumeTest, AStartReadsTheEndsOfAStreamOnly) {
  Txn txn;
  WriteMany(&txn, 8, 3000);
  Commit(&txn);
  Txn last;
  WriteMany(&last, 16, 1000);
  ASSERT_TRUE(world_.undo().Statistics().pages > 300);
  ASSERT_TRUE(world_.pool().FlushAndCheckpoint().ok());
  KillAndStart();
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  KillAndStart();
  // The directory has 65 pages of this size.
  EXPECT_LT(ReadCounter(Counter::kPagesRead) - before, 65u + 10u);
  EXPECT_EQ(world_.manager().HistoryLength(), 1u);
  ASSERT_EQ(world_.manager().Describe().size(), 1u);
  EXPECT_EQ(world_.manager().Describe()[0].undo_records, 1000u);
  world_.CheckAll();
  world_.RollBackLosers();
  EXPECT_EQ(world_.Cell(16), 0u);
  world_.Purge();
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, HistoryIsCountedWhereverPurgeAndWritersStand) {
  uint64_t expected = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    Txn txn;
    WriteMany(&txn, 8, 1 + round * 7 % 50);
    if (round % 5 == 4) {
      ASSERT_TRUE(world_.manager().Rollback(&txn).ok());
    } else {
      Commit(&txn);
      ++expected;
    }
    if (round % 3 == 0) {
      ASSERT_TRUE(world_.PurgeUnit(0, 1, 11).ok());
    }
    expected = std::min(expected, world_.manager().HistoryLength());
    ASSERT_EQ(world_.manager().HistoryLength(), expected);
    KillAndStart();
    // Progress within the last pages may be lost.
    EXPECT_GE(world_.manager().HistoryLength(), expected);
    EXPECT_LE(world_.manager().HistoryLength(), expected + 12);
    expected = world_.manager().HistoryLength();
  }
  world_.Purge();
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, APreparedTransactionOfManyPagesIsFound) {
  Txn txn;
  WriteMany(&txn, 8);
  ASSERT_TRUE(world_.manager().Prepare(&txn, AsBytes("xid")).ok());
  KillAndStart();
  ASSERT_EQ(world_.manager().PreparedXids(), (std::vector<std::string>{"xid"}));
  ASSERT_TRUE(world_.manager().CommitPrepared("xid", Durability::kDurable).ok());
  KillAndStart();
  EXPECT_EQ(world_.manager().HistoryLength(), 1u);
  EXPECT_EQ(world_.Cell(8), kRecords);
  world_.Purge();
  EXPECT_EQ(world_.purged.size(), kRecords);
  ExpectNothingLeft();
}

void UndoResumeTest::MakeBare() {
  Txn txn;
  ASSERT_TRUE(world_.Write(&txn, 1, 1).ok());
  ASSERT_TRUE(world_.manager().Rollback(&txn).ok());
  ASSERT_EQ(world_.undo().Statistics().pages, 1u);
  const Result<uint64_t> directory = world_.allocator().ReadCounter(kUndoSpace);
  ASSERT_TRUE(directory.ok());
  MiniTxn mini_txn(&world_.pool());
  ASSERT_TRUE(mini_txn.Start(2 * PageImageLogBytesMax(kPageBytes)).ok());
  Result<MutablePage> slots =
      mini_txn.Fix({kUndoSpace, PageNumber(static_cast<uint32_t>(directory.value()))});
  ASSERT_TRUE(slots.ok());
  std::byte* slot = slots->bytes + kDirectorySlotsOffset;
  const PageNumber head = LoadDirectorySlot(slot).head;
  Result<MutablePage> page = mini_txn.Fix({kUndoSpace, head});
  ASSERT_TRUE(page.ok());
  SetPageVersion(slots->bytes, kUndoPageVersionBare);
  StoreDirectorySlot(slot, {head, head, kUndoRecordsOffsetBare, kNoPage});
  LogPageImage(&mini_txn, slots.value());
  InitBareUndoPage({page->bytes, kPageBytes}, page->id, {0, kNoPage});
  LogPageImage(&mini_txn, page.value());
  mini_txn.Commit();
  KillAndStart();
}

TEST_F(UndoResumeTest, AnUndoSpaceWithoutSummariesIsReadAndCarriedOn) {
  MakeBare();
  world_.CheckAll();
  uint64_t committed = 0;
  for (uint64_t i = 0; i < 4; ++i, ++committed) {
    Txn txn;
    WriteMany(&txn, 3, 2 + i);
    Commit(&txn);
    KillAndStart();
    EXPECT_EQ(world_.manager().HistoryLength(), i + 1);
  }
  Txn loser;
  WriteMany(&loser, 8, 40);  // begins on the bare page and goes on behind it
  KillAndStart();
  EXPECT_EQ(world_.manager().HistoryLength(), committed);
  EXPECT_EQ(world_.manager().Describe()[0].undo_records, 40u);
  ASSERT_TRUE(world_.RollbackUnit(25).ok());
  KillAndStart();
  EXPECT_EQ(world_.manager().Describe()[0].undo_records, 15u);
  world_.CheckAll();
  world_.RollBackLosers();
  EXPECT_EQ(world_.Cell(8), 0u);
  Txn last;
  WriteMany(&last, 8, 100);
  Commit(&last);
  for (uint64_t unit = 0; world_.manager().HistoryLength() != 0; ++unit) {
    ASSERT_LT(unit, 200u);
    // Inside of a bare page nothing can be remembered: more than one holds.
    ASSERT_TRUE(world_.PurgeUnit(0, 1, 60).ok());
    KillAndStart();
    world_.CheckAll();
  }
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, DamageInHistoryStopsThePurgeOfItsStreamOnly) {
  Txn first;
  Txn second;
  WriteMany(&first, 8);
  WriteMany(&second, 16);
  Commit(&first);
  Commit(&second);
  KillAndStart();
  // The second page of the first stream becomes something else.
  {
    const Result<uint64_t> directory = world_.allocator().ReadCounter(kUndoSpace);
    MiniTxn mini_txn(&world_.pool());
    ASSERT_TRUE(mini_txn.Start(4096).ok());
    Result<MutablePage> slots =
        mini_txn.Fix({kUndoSpace, PageNumber(static_cast<uint32_t>(directory.value()))});
    ASSERT_TRUE(slots.ok());
    const DirectorySlot slot = LoadDirectorySlot(slots->bytes + kDirectorySlotsOffset);
    Result<MutablePage> head = mini_txn.Fix({kUndoSpace, slot.head});
    ASSERT_TRUE(head.ok());
    Result<MutablePage> next = mini_txn.Fix({kUndoSpace, UndoNextOf(head->bytes)});
    ASSERT_TRUE(next.ok());
    const std::vector<std::byte> zeros(100);
    LogPageBytes(&mini_txn, next.value(), kUndoRecordsOffset, zeros);
    mini_txn.Commit();
  }
  SetLogSink([](LogLevel, std::string_view) {});
  uint64_t failures = 0;
  for (int unit = 0; unit < 20; ++unit) {
    if (!world_.PurgeUnit(0, 1).ok()) ++failures;
  }
  SetLogSink({});
  EXPECT_EQ(failures, 1u) << "damage is met once";
  EXPECT_EQ(world_.manager().HistoryLength(), 1u);
  EXPECT_GE(std::count(world_.purged.begin(), world_.purged.end(), "16=299"), 1);
}

}  // namespace
}  // namespace rowan
