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
#include "tests/mvcc/undo_fixture.h"

namespace rowan::undo_resume_test {
namespace {

/// Every record is of a padded cell: some 330 bytes, so 12 of them fill a page of 4 KiB.
constexpr uint32_t kPageBytes = 4096;
constexpr uint64_t kRecords = 300;

class UndoResumeTest : public ::testing::Test {
 protected:
  UndoResumeTest() : fixture_(1, kPageBytes) {}
  void SetUp() override { fixture_.Create(); }
  void WriteMany(Txn* txn, uint32_t cell, uint64_t count = kRecords) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(fixture_.Write(txn, cell, i + 1).ok());
  }
  void Commit(Txn* txn) {
    ASSERT_TRUE(fixture_.manager().Commit(txn, Durability::kDurable, true).ok());
  }
  void KillAndStart(bool background = false) {
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    const Status status = fixture_.Start(background);
    ASSERT_TRUE(status.ok()) << status.message();
  }
  /// All that is left of the undo space: one page a stream.
  void ExpectNothingLeft() {
    EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
    EXPECT_EQ(fixture_.undo().Statistics().pages, fixture_.undo().stream_count());
    fixture_.CheckAll();
  }
  /// As an instance of before: one stream, whose pages have no summaries, and bare slots.
  void MakeBare();

  UndoFixture fixture_;
};

TEST_F(UndoResumeTest, PurgeStopsBehindAnyRecordAndGoesOnThere) {
  for (const uint64_t records : {1u, 7u, 64u, 1000u}) {
    Txn txn;
    WriteMany(&txn, 8);
    Commit(&txn);
    fixture_.purged.clear();
    uint64_t units = 0;
    for (; fixture_.manager().HistoryLength() != 0; ++units) {
      ASSERT_TRUE(fixture_.PurgeUnit(0, 1, records).value());
      ASSERT_LE(fixture_.purged.size(), (units + 1) * records);
      if (units % 16 == 0) fixture_.CheckAll();
    }
    EXPECT_EQ(fixture_.purged.size(), kRecords);
    EXPECT_GE(units, kRecords / records);
    ExpectNothingLeft();
  }
}

TEST_F(UndoResumeTest, PurgeGoesOnInsideATransactionAfterARestart) {
  Txn txn;
  WriteMany(&txn, 8);
  Commit(&txn);
  const uint64_t pages = fixture_.undo().Statistics().pages;
  uint64_t purged = 0;
  uint64_t restarts = 0;
  while (fixture_.manager().HistoryLength() != 0) {
    ASSERT_TRUE(fixture_.PurgeUnit(0, 1, 40).ok());
    purged += fixture_.purged.size();
    EXPECT_EQ(fixture_.manager().HistoryLength() == 0, fixture_.purged.back() == "8=299");
    KillAndStart();
    fixture_.CheckAll();
    ASSERT_LT(++restarts, kRecords) << "purge begins again and again";
    EXPECT_LT(fixture_.undo().Statistics().pages, pages);
  }
  EXPECT_LE(purged, kRecords + restarts * 12);
  EXPECT_EQ(fixture_.Cell(8), kRecords);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, RollbackStopsBehindAnyRecordAndGoesOnAfterARestart) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 3, 7).ok());
  WriteMany(&txn, 8);
  const TxnId id = txn.txn_id();
  KillAndStart();
  for (uint64_t left = kRecords; left > 0; left -= std::min<uint64_t>(left, 13)) {
    ASSERT_EQ(fixture_.manager().Describe().size(), 1u);
    EXPECT_EQ(fixture_.manager().Describe()[0].undo_records, left + 1);
    EXPECT_TRUE(fixture_.manager().IsActive(id));
    EXPECT_EQ(fixture_.Cell(8), left);
    ASSERT_TRUE(fixture_.RollbackUnit(13).value());
    fixture_.CheckAll();
    if (left % 2 == 0) KillAndStart();
  }
  EXPECT_EQ(fixture_.manager().LoserCount(), 0u);
  EXPECT_FALSE(fixture_.manager().IsActive(id));
  EXPECT_EQ(fixture_.Cell(3), 0u);
  EXPECT_EQ(fixture_.Cell(8), 0u);
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
  fixture_.on_undo = [&](const UndoRecordCopy&) {
    stop.store(++undone == 5);
    return Status::Ok();
  };
  WorkBudget rollback(UINT64_MAX, &stop);
  ASSERT_TRUE(fixture_.manager().RollbackSome(&rollback).ok());
  EXPECT_EQ(undone, 5u);
  EXPECT_EQ(fixture_.Cell(16), kRecords - 5);
  WorkBudget purge(UINT64_MAX, &stop);
  ASSERT_TRUE(fixture_.manager().PurgeSome(0, 1, &purge).ok());
  EXPECT_TRUE(fixture_.purged.empty());
  fixture_.CheckAll();
}

TEST_F(UndoResumeTest, LosersAreRolledBackByAnyNumberOfWorkers) {
  constexpr uint32_t kLosers = 6;
  {
    std::vector<Txn> losers(kLosers);
    for (uint32_t i = 0; i < kLosers; ++i) WriteMany(&losers[i], 8 * (i + 1), 80);
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    fixture_.Kill();
  }
  ASSERT_TRUE(fixture_.Start(true).ok());
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 3; ++worker) {
    workers.emplace_back([this] {
      while (fixture_.manager().LoserCount() != 0) ASSERT_TRUE(fixture_.RollbackUnit(9).ok());
    });
  }
  for (std::thread& worker : workers) worker.join();
  for (uint32_t i = 0; i < kLosers; ++i) EXPECT_EQ(fixture_.Cell(8 * (i + 1)), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, AShutdownLeavesALongRollbackToTheNextStart) {
  constexpr uint64_t kMany = 3000;  // several looks at the sign
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 3, 7).ok());
  const UndoPosition before = fixture_.manager().Savepoint(&txn);
  WriteMany(&txn, 9, kMany);
  const TxnId id = txn.txn_id();
  UndoFixture::shutting_down = true;
  EXPECT_TRUE(fixture_.manager().RollbackTo(&txn, before).Is(Code::kInterrupted));
  const uint64_t left = fixture_.Cell(9);
  EXPECT_GT(left, 0u);
  EXPECT_LT(left, kMany);
  // Half of the statement is there: it must not become durable by any way.
  EXPECT_TRUE(fixture_.manager().Commit(&txn, Durability::kDurable, true).Is(Code::kInterrupted));
  EXPECT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("x")).Is(Code::kInterrupted));
  EXPECT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_GT(fixture_.Cell(9), 0u);
  EXPECT_LT(fixture_.Cell(9), left);
  EXPECT_TRUE(fixture_.manager().IsActive(id));  // its rows stay locked
  Txn shorter;
  WriteMany(&shorter, 10, 10);
  EXPECT_TRUE(fixture_.manager().Rollback(&shorter).ok());
  EXPECT_EQ(fixture_.Cell(10), 0u);
  KillAndStart();
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(3), 0u);
  EXPECT_EQ(fixture_.Cell(9), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, AShutdownLeavesTheRollbackOfAPreparedTransaction) {
  Txn txn;
  WriteMany(&txn, 9, 3000);
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("x")).ok());
  UndoFixture::shutting_down = true;
  // The coordinator forgets it behind this.
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_GT(fixture_.Cell(9), 0u);
  const Status status = fixture_.Start();
  ASSERT_TRUE(status.ok()) << status.message();
  EXPECT_TRUE(fixture_.manager().detached().PreparedXids().empty());
  EXPECT_EQ(fixture_.manager().LoserCount(), 1u);
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(9), 0u);
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
    UndoFixture fixture(TestSeed() + changes, kPageBytes);
    fixture.Create();
    begin(&fixture);
    if (::testing::Test::HasFatalFailure()) return;
    fixture.file_system().PowerOffAfter(changes);
    done = work(&fixture);
    fixture.Kill();
    fixture.file_system().Crash(changes);
    const Status status = fixture.Start();
    ASSERT_TRUE(status.ok()) << status.message() << fixture.file_system().Describe();
    finish(&fixture);
    if (::testing::Test::HasFailure()) return;
  }
  SetLogSink({});
}

/// Small units with the log made durable in between, so that there are many different cuts.
template <typename Unit>
bool WorkInUnits(UndoFixture* fixture, Unit unit) {
  for (;;) {
    const Result<bool> more = unit();
    if (!more.ok() || !fixture->manager().MakeDurable().ok()) return false;
    if (!more.value()) return true;
  }
}

TEST_F(UndoResumeTest, APowerCutAnywhereInARollback) {
  CutEverywhere(
      [](UndoFixture* fixture) {
        Txn txn;
        for (uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(fixture->Write(&txn, 8, i + 1).ok());
        ASSERT_TRUE(fixture->manager().MakeDurable().ok());
        ASSERT_TRUE(fixture->Start().ok());
      },
      [](UndoFixture* fixture) {
        return WorkInUnits(fixture, [fixture] { return fixture->RollbackUnit(5); });
      },
      [](UndoFixture* fixture) {
        fixture->CheckAll();
        fixture->RollBackLosers();
        EXPECT_EQ(fixture->Cell(8), 0u);
        EXPECT_EQ(fixture->undo().Statistics().pages, 1u);
        fixture->CheckAll();
      });
}

TEST_F(UndoResumeTest, APowerCutAnywhereInAPurge) {
  CutEverywhere(
      [](UndoFixture* fixture) {
        for (int transaction = 0; transaction < 3; ++transaction) {
          Txn txn;
          for (uint64_t i = 0; i < 120; ++i) ASSERT_TRUE(fixture->Write(&txn, 8, i + 1).ok());
          ASSERT_TRUE(fixture->manager().Commit(&txn, Durability::kDurable, true).ok());
        }
      },
      [](UndoFixture* fixture) {
        return WorkInUnits(fixture, [fixture] { return fixture->PurgeUnit(0, 1, 10); });
      },
      [](UndoFixture* fixture) {
        fixture->CheckAll();
        EXPECT_LE(fixture->manager().HistoryLength(), 3u);
        fixture->Purge();
        EXPECT_EQ(fixture->Cell(8), 120u);
        EXPECT_EQ(fixture->manager().HistoryLength(), 0u);
        EXPECT_EQ(fixture->undo().Statistics().pages, 1u);
        fixture->CheckAll();
      });
}

TEST_F(UndoResumeTest, AStartReadsTheEndsOfAStreamOnly) {
  Txn txn;
  WriteMany(&txn, 8, 3000);
  Commit(&txn);
  Txn last;
  WriteMany(&last, 16, 1000);
  ASSERT_TRUE(fixture_.undo().Statistics().pages > 300);
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  KillAndStart();
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  KillAndStart();
  // The directory has 65 pages of this size.
  EXPECT_LT(ReadCounter(Counter::kPagesRead) - before, 65u + 10u);
  EXPECT_EQ(fixture_.manager().HistoryLength(), 1u);
  ASSERT_EQ(fixture_.manager().Describe().size(), 1u);
  EXPECT_EQ(fixture_.manager().Describe()[0].undo_records, 1000u);
  fixture_.CheckAll();
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(16), 0u);
  fixture_.Purge();
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, HistoryIsCountedWhereverPurgeAndWritersStand) {
  uint64_t expected = 0;
  for (uint64_t round = 0; round < 40; ++round) {
    Txn txn;
    WriteMany(&txn, 8, 1 + round * 7 % 50);
    if (round % 5 == 4) {
      ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
    } else {
      Commit(&txn);
      ++expected;
    }
    if (round % 3 == 0) {
      ASSERT_TRUE(fixture_.PurgeUnit(0, 1, 11).ok());
    }
    expected = std::min(expected, fixture_.manager().HistoryLength());
    ASSERT_EQ(fixture_.manager().HistoryLength(), expected);
    KillAndStart();
    // Progress within the last pages may be lost.
    EXPECT_GE(fixture_.manager().HistoryLength(), expected);
    EXPECT_LE(fixture_.manager().HistoryLength(), expected + 12);
    expected = fixture_.manager().HistoryLength();
  }
  fixture_.Purge();
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, APreparedTransactionOfManyPagesIsFound) {
  Txn txn;
  WriteMany(&txn, 8);
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("xid")).ok());
  KillAndStart();
  ASSERT_EQ(fixture_.manager().detached().PreparedXids(), (std::vector<std::string>{"xid"}));
  ASSERT_TRUE(fixture_.manager().CommitPrepared("xid", Durability::kDurable).ok());
  KillAndStart();
  EXPECT_EQ(fixture_.manager().HistoryLength(), 1u);
  EXPECT_EQ(fixture_.Cell(8), kRecords);
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged.size(), kRecords);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, AStartReadsTheEndsOfAPreparedTransactionOnly) {
  Txn txn;
  WriteMany(&txn, 8, 3000);
  ASSERT_TRUE(fixture_.undo().Statistics().pages > 200);
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("xid")).ok());
  ASSERT_TRUE(fixture_.pool().FlushAndCheckpoint().ok());
  KillAndStart();
  const uint64_t before = ReadCounter(Counter::kPagesRead);
  KillAndStart();
  // The directory has 65 pages of this size.
  EXPECT_LT(ReadCounter(Counter::kPagesRead) - before, 65u + 10u);
  EXPECT_EQ(fixture_.manager().detached().IndexesChangedBy("xid"),
            (std::vector<IndexId>{UndoFixture::kIndex}));
  // The list goes with the XID.
  ASSERT_TRUE(fixture_.manager().RenamePrepared("xid", "xyz").ok());
  ASSERT_TRUE(fixture_.manager().RollbackPrepared("xyz").ok());
  EXPECT_EQ(fixture_.Cell(8), 0u);
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, APreparedTransactionOfMoreIndexesThanAPageHasRoomForIsFound) {
  constexpr uint64_t kIndexes = 20'000;
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 8, 1).ok());
  for (uint64_t index = 0; index < kIndexes; ++index) {
    ASSERT_TRUE(fixture_.LogDrop(&txn, UndoType::kExtension, "x", IndexId(1000 + index * 3)).ok());
  }
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("xid")).ok());
  KillAndStart();
  const std::vector<IndexId> found = fixture_.manager().detached().IndexesChangedBy("xid");
  ASSERT_EQ(found.size(), kIndexes + 1);
  EXPECT_EQ(found.front(), UndoFixture::kIndex);
  EXPECT_EQ(found.back(), IndexId(1000 + (kIndexes - 1) * 3));
  ASSERT_TRUE(fixture_.manager().CommitPrepared("xid", Durability::kDurable).ok());
  fixture_.CheckAll();
  fixture_.Purge();
  ExpectNothingLeft();
}

TEST_F(UndoResumeTest, APreparedTransactionWithoutAListIsReadWhole) {
  Txn txn;
  WriteMany(&txn, 8);
  txn.undo.indexes.Clear();  // as older builds left it
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("xid")).ok());
  KillAndStart();
  EXPECT_EQ(fixture_.manager().detached().IndexesChangedBy("xid"),
            (std::vector<IndexId>{UndoFixture::kIndex}));
  ASSERT_TRUE(fixture_.manager().RollbackPrepared("xid").ok());
  ExpectNothingLeft();
}

void UndoResumeTest::MakeBare() {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 1).ok());
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  ASSERT_EQ(fixture_.undo().Statistics().pages, 1u);
  const Result<uint64_t> directory = fixture_.allocator().ReadCounter(kUndoSpace);
  ASSERT_TRUE(directory.ok());
  MiniTxn mini_txn(&fixture_.pool());
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
  fixture_.CheckAll();
  uint64_t committed = 0;
  for (uint64_t i = 0; i < 4; ++i, ++committed) {
    Txn txn;
    WriteMany(&txn, 3, 2 + i);
    Commit(&txn);
    KillAndStart();
    EXPECT_EQ(fixture_.manager().HistoryLength(), i + 1);
  }
  Txn loser;
  WriteMany(&loser, 8, 40);  // begins on the bare page and goes on behind it
  KillAndStart();
  EXPECT_EQ(fixture_.manager().HistoryLength(), committed);
  EXPECT_EQ(fixture_.manager().Describe()[0].undo_records, 40u);
  ASSERT_TRUE(fixture_.RollbackUnit(25).ok());
  KillAndStart();
  EXPECT_EQ(fixture_.manager().Describe()[0].undo_records, 15u);
  fixture_.CheckAll();
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(8), 0u);
  Txn last;
  WriteMany(&last, 8, 100);
  Commit(&last);
  for (uint64_t unit = 0; fixture_.manager().HistoryLength() != 0; ++unit) {
    ASSERT_LT(unit, 200u);
    // Inside of a bare page nothing can be remembered: more than one holds.
    ASSERT_TRUE(fixture_.PurgeUnit(0, 1, 60).ok());
    KillAndStart();
    fixture_.CheckAll();
  }
  ExpectNothingLeft();
}

}  // namespace
}  // namespace rowan::undo_resume_test
