// SPDX-License-Identifier: GPL-2.0-only
// Undo streams: records, rollback, purge, recovery.
#include "mvcc/undo/undo_log.h"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "base/clock.h"
#include "buffer/buffer_redo.h"
#include "mvcc/undo/undo_page.h"
#include "tests/mvcc/undo_fixture.h"

namespace rowan {
namespace {

class UndoTest : public ::testing::Test {
 protected:
  void SetUp() override { fixture_.Create(); }
  void Commit(Txn* txn) {
    ASSERT_TRUE(fixture_.manager().Commit(txn, Durability::kBackground, true).ok());
  }
  /// Everything written reaches the log file, memory is lost.
  void KillAndStart() {
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    const Status status = fixture_.Start();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  UndoFixture fixture_;
};

TEST_F(UndoTest, ARecordIsReadBackAsWritten) {
  Txn txn;
  ASSERT_TRUE(fixture_.manager().AssignId(&txn).ok());
  std::vector<UndoPointer> pointers;
  const size_t largest = UndoLog::MaxPayloadBytes(fixture_.pool().page_size_bytes());
  for (const size_t size : {size_t{0}, size_t{1}, size_t{100}, largest / 2, largest, size_t{3}}) {
    ASSERT_TRUE(fixture_.undo_log().EnsureRoom(&txn, size).ok());
    MiniTxn mini_txn(&fixture_.pool());
    ASSERT_TRUE(mini_txn.Start(UndoLog::LogBytesMax(size) + 100).ok());
    const std::string text(size, static_cast<char>('a' + pointers.size()));
    Result<UndoPointer> pointer = fixture_.undo_log().Append(
        &mini_txn, &txn, UndoType::kClusteredInsert, IndexId(300), {AsBytes(text)});
    ASSERT_TRUE(pointer.ok());
    mini_txn.Commit();
    pointers.push_back(pointer.value());
    UndoRecordCopy record;
    ASSERT_TRUE(fixture_.undo_log().Read(pointers.back(), &record).ok());
    EXPECT_EQ(record.type, UndoType::kClusteredInsert);
    EXPECT_EQ(record.index, IndexId(300));
    EXPECT_EQ(AsText(Bytes(record.payload)), text);
  }
  EXPECT_TRUE(fixture_.undo_log().EnsureRoom(&txn, largest + 1).Is(Code::kTooBig));
  UndoRecordCopy record;
  UndoPointer wrong = pointers[1];
  ++wrong.offset;
  EXPECT_TRUE(fixture_.undo_log().Read(wrong, &record).Is(Code::kCorrupt));
  Commit(&txn);
  fixture_.CheckAll();
}

TEST_F(UndoTest, SmallTransactionsShareAStreamAndItsPages) {
  for (uint64_t i = 0; i < 20; ++i) {
    Txn txn;
    ASSERT_TRUE(fixture_.Write(&txn, 1, i).ok());
    Commit(&txn);
  }
  const UndoStatistics statistics = fixture_.undo().Statistics();
  EXPECT_EQ(statistics.streams, 1u);
  EXPECT_EQ(statistics.pages, 1u);
  EXPECT_EQ(statistics.transactions_to_purge, 20u);
}

TEST_F(UndoTest, RollbackRestoresInReverseOrderAndLeavesNothing) {
  Txn base;
  ASSERT_TRUE(fixture_.Write(&base, 3, 7).ok());
  Commit(&base);
  Txn txn;
  for (uint64_t i = 0; i < 500; ++i) {
    ASSERT_TRUE(fixture_.Write(&txn, 3 + 8 * (i % 2), 100 + i).ok());
    ASSERT_TRUE(fixture_.Write(&txn, 8, 500 + i).ok());
  }
  EXPECT_GT(fixture_.undo().Statistics().pages, 1u);
  EXPECT_EQ(txn.undo.records, 1000u);
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_EQ(fixture_.Cell(3), 7u);
  EXPECT_EQ(fixture_.Cell(11), 0u);
  EXPECT_EQ(fixture_.Cell(8), 0u);
  EXPECT_EQ(fixture_.undo().Statistics().pages, 1u);
  EXPECT_TRUE(fixture_.manager().Describe().empty());
  fixture_.CheckAll();
  Txn next;  // goes on behind the first transaction
  ASSERT_TRUE(fixture_.Write(&next, 3, 8).ok());
  Commit(&next);
  EXPECT_EQ(fixture_.undo().Statistics().transactions_to_purge, 2u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, SavepointsNest) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 10).ok());
  const UndoPosition first = fixture_.manager().Savepoint(&txn);
  for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(fixture_.Write(&txn, 8, i).ok());
  const UndoPosition second = fixture_.manager().Savepoint(&txn);
  ASSERT_TRUE(fixture_.Write(&txn, 1, 20).ok());
  ASSERT_TRUE(fixture_.manager().RollbackTo(&txn, second).ok());
  EXPECT_EQ(fixture_.Cell(1), 10u);
  EXPECT_EQ(fixture_.Cell(8), 299u);
  ASSERT_TRUE(fixture_.manager().RollbackTo(&txn, first).ok());
  EXPECT_EQ(fixture_.Cell(8), 0u);
  EXPECT_EQ(txn.undo.records, 1u);
  ASSERT_TRUE(fixture_.Write(&txn, 2, 30).ok());
  Commit(&txn);
  EXPECT_EQ(fixture_.Cell(1), 10u);
  EXPECT_EQ(fixture_.Cell(2), 30u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, ASavepointBeforeTheFirstWrite) {
  Txn txn;
  const UndoPosition nothing = fixture_.manager().Savepoint(&txn);
  ASSERT_TRUE(fixture_.Write(&txn, 1, 10).ok());
  ASSERT_TRUE(fixture_.manager().RollbackTo(&txn, nothing).ok());
  EXPECT_EQ(fixture_.Cell(1), 0u);
  ASSERT_TRUE(fixture_.Write(&txn, 1, 11).ok());
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_EQ(fixture_.Cell(1), 0u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, RoomThatWasNotUsedIsNoTransaction) {
  Txn txn;
  ASSERT_TRUE(fixture_.manager().AssignId(&txn).ok());
  ASSERT_TRUE(fixture_.undo_log().EnsureRoom(&txn, 100).ok());
  Commit(&txn);
  ASSERT_TRUE(fixture_.manager().AssignId(&txn).ok());
  ASSERT_TRUE(fixture_.undo_log().EnsureRoom(&txn, 100).ok());
  ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  EXPECT_EQ(fixture_.undo().HistoryLength(), 0u);
  EXPECT_EQ(fixture_.undo().stream_count(), 1u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, ManyRollbacksPileNothingUp) {
  for (int i = 0; i < 5000; ++i) {  // the ring has 1024 entries
    Txn txn;
    ASSERT_TRUE(fixture_.Write(&txn, 1, 10).ok());
    ASSERT_TRUE(fixture_.manager().Rollback(&txn).ok());
  }
  fixture_.manager().RefreshHorizon();
  EXPECT_EQ(fixture_.manager().VisibleToAll(), fixture_.manager().NextTxnId());
  EXPECT_EQ(fixture_.manager().RememberedOutcomes(), 0u);
}

TEST_F(UndoTest, PurgeWaitsForTheOldestSnapshotAndFreesPages) {
  Txn reader;
  Txn first;
  ASSERT_TRUE(fixture_.Write(&first, 1, 5).ok());
  Commit(&first);
  fixture_.manager().OpenSnapshot(&reader);
  for (uint64_t i = 0; i < 200; ++i) {
    Txn txn;
    for (uint32_t cell = 8; cell < 80; cell += 8) ASSERT_TRUE(fixture_.Write(&txn, cell, i).ok());
    Commit(&txn);
  }
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged, (std::vector<std::string>{"1=0"}));
  EXPECT_EQ(fixture_.manager().HistoryLength(), 200u);
  EXPECT_GT(fixture_.undo().Statistics().pages, 10u);
  fixture_.CheckAll();
  fixture_.manager().CloseSnapshot(&reader);
  fixture_.Purge();
  EXPECT_EQ(fixture_.manager().HistoryLength(), 0u);
  EXPECT_EQ(fixture_.purged.size(), 1u + 200 * 9);
  EXPECT_EQ(fixture_.purged[1], "8=0");
  EXPECT_EQ(fixture_.undo().Statistics().pages, 1u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, PurgeStopsBeforeTheRunningTransaction) {
  Txn committed;
  ASSERT_TRUE(fixture_.Write(&committed, 1, 5).ok());
  Commit(&committed);
  Txn running;
  ASSERT_TRUE(fixture_.Write(&running, 2, 6).ok());
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged, (std::vector<std::string>{"1=0"}));
  for (uint64_t i = 0; i < 200; ++i) ASSERT_TRUE(fixture_.Write(&running, 8, i).ok());
  fixture_.Purge();
  ASSERT_TRUE(fixture_.manager().Rollback(&running).ok());
  EXPECT_EQ(fixture_.Cell(2), 0u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, RecoveryFindsLosersAndHistory) {
  Txn committed;
  for (uint64_t i = 0; i < 100; ++i) ASSERT_TRUE(fixture_.Write(&committed, 8, i + 1).ok());
  Commit(&committed);
  Txn loser;
  Txn other;
  for (uint64_t i = 0; i < 100; ++i) {
    ASSERT_TRUE(fixture_.Write(&loser, 16, i + 1).ok());
    ASSERT_TRUE(fixture_.Write(&other, 24, i + 1).ok());
  }
  const TxnId loser_id = loser.txn_id();
  Commit(&other);
  KillAndStart();
  EXPECT_EQ(fixture_.Cell(16), 100u);
  EXPECT_TRUE(fixture_.manager().IsActive(loser_id));
  EXPECT_EQ(fixture_.manager().HistoryLength(), 2u);
  ASSERT_EQ(fixture_.manager().Describe().size(), 1u);
  EXPECT_TRUE(fixture_.manager().Describe()[0].recovered);
  EXPECT_EQ(fixture_.manager().Describe()[0].undo_records, 100u);
  fixture_.RollBackLosers();
  EXPECT_FALSE(fixture_.manager().IsActive(loser_id));
  EXPECT_EQ(fixture_.Cell(8), 100u);
  EXPECT_EQ(fixture_.Cell(16), 0u);
  EXPECT_EQ(fixture_.Cell(24), 100u);
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged.size(), 200u);
  EXPECT_EQ(fixture_.undo().Statistics().pages, 2u);
  fixture_.CheckAll();
  KillAndStart();
  EXPECT_EQ(fixture_.Cell(16), 0u);
  EXPECT_TRUE(fixture_.manager().Describe().empty());
  fixture_.CheckAll();
}

TEST_F(UndoTest, AHalfWayRollbackGoesOnAfterARestart) {
  Txn txn;
  for (uint64_t i = 0; i < 300; ++i) ASSERT_TRUE(fixture_.Write(&txn, 8, i + 1).ok());
  int left = 120;
  fixture_.on_undo = [&left](const UndoRecordCopy&) {
    return left-- > 0 ? Status::Ok() : Status(Code::kStopped);
  };
  EXPECT_TRUE(fixture_.manager().Rollback(&txn).Is(Code::kStopped));
  EXPECT_FALSE(txn.is_writer());
  fixture_.on_undo = nullptr;
  KillAndStart();
  EXPECT_EQ(fixture_.Cell(8), 180u);
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(8), 0u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, DamageKeepsTheTransactionListedAndLocked) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 5).ok());
  ASSERT_TRUE(fixture_.Write(&txn, 2, 6).ok());
  const TxnId id = txn.txn_id();
  fixture_.on_undo = [](const UndoRecordCopy& record) {
    return LoadLe<uint32_t>(record.payload.data()) == 1 ? Status(Code::kCorrupt) : Status::Ok();
  };
  EXPECT_TRUE(fixture_.manager().Rollback(&txn).Is(Code::kCorrupt));
  EXPECT_EQ(fixture_.Cell(2), 0u);
  EXPECT_EQ(fixture_.Cell(1), 5u);
  EXPECT_TRUE(fixture_.manager().IsActive(id));
  EXPECT_TRUE(fixture_.manager().WithActive(id, [&](Txn* heir) { EXPECT_NE(heir, &txn); }));
  Txn next;  // everybody else goes on
  ASSERT_TRUE(fixture_.Write(&next, 3, 9).ok());
  Commit(&next);
  fixture_.manager().RetryDueRollbacks(UINT64_MAX);
  const Result<bool> more = fixture_.RollbackUnit();
  EXPECT_TRUE(more.ok() && !more.value()) << "it is not tried for ever";
  EXPECT_EQ(fixture_.manager().FailedRollbacks(), 1u);
  EXPECT_FALSE(fixture_.manager().RollbacksWait());
  fixture_.on_undo = nullptr;
  KillAndStart();
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(1), 0u);
  EXPECT_EQ(fixture_.Cell(3), 9u);
}

TEST_F(UndoTest, AFailedRollbackIsTriedAgainAfterPausesThatGrow) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 5).ok());
  ASSERT_TRUE(fixture_.Write(&txn, 2, 6).ok());
  const TxnId id = txn.txn_id();
  uint64_t tries = 0;
  fixture_.on_undo = [&tries](const UndoRecordCopy&) {
    return ++tries <= 4 ? Status(Code::kNoSpace) : Status::Ok();
  };
  TxnManager& manager = fixture_.manager();
  uint64_t before = MonotonicNanos();
  EXPECT_TRUE(manager.Rollback(&txn).Is(Code::kNoSpace));
  uint64_t pause_nanos = 100'000'000;
  for (uint64_t failed = 1; failed <= 4; ++failed, pause_nanos *= 2) {
    const uint64_t after = MonotonicNanos();
    EXPECT_EQ(manager.FailedRollbacks(), 1u);
    EXPECT_TRUE(manager.RollbacksWait());
    manager.RetryDueRollbacks(before + pause_nanos - 1);
    EXPECT_EQ(manager.LoserCount(), 0u);
    manager.RetryDueRollbacks(after + pause_nanos);
    ASSERT_EQ(manager.LoserCount(), 1u);
    EXPECT_EQ(tries, failed);
    before = MonotonicNanos();
    ASSERT_TRUE(fixture_.RollbackUnit().ok());
    EXPECT_EQ(manager.LoserCount(), 0u);
  }
  EXPECT_EQ(manager.FailedRollbacks(), 0u);
  EXPECT_FALSE(manager.IsActive(id));
  EXPECT_EQ(fixture_.Cell(1), 0u);
  EXPECT_EQ(fixture_.Cell(2), 0u);
}

TEST_F(UndoTest, ARollbackOfAPreparedTransactionThatFailedIsNoneToBeDecided) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 5).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes(std::string_view("given up"))).ok());
  const PageId header{kUndoSpace, txn.undo.header.page};
  const auto offset = static_cast<uint16_t>(txn.undo.header.offset + 2);
  const auto exchange = [&](const std::vector<std::byte>& bytes) {
    MiniTxn mini_txn(&fixture_.pool());
    EXPECT_TRUE(mini_txn.Start(4096).ok());
    const Result<MutablePage> page = mini_txn.Fix(header);
    EXPECT_TRUE(page.ok());
    const std::vector<std::byte> before(page.value().bytes + offset,
                                        page.value().bytes + offset + bytes.size());
    LogPageBytes(&mini_txn, page.value(), offset, bytes);
    mini_txn.Commit();
    return before;
  };
  const std::vector<std::byte> good = exchange(std::vector<std::byte>(kTxnHeaderPayloadBytes));
  TxnManager& manager = fixture_.manager();
  EXPECT_TRUE(manager.Rollback(&txn).Is(Code::kCorrupt));
  EXPECT_TRUE(manager.detached().PreparedXids().empty());
  EXPECT_TRUE(manager.CommitPrepared("given up", Durability::kDurable).Is(Code::kNotFound));
  EXPECT_EQ(fixture_.Cell(1), 5u);
  exchange(good);
  manager.RetryFailedRollbacks();
  EXPECT_EQ(manager.LoserCount(), 1u);
  fixture_.RollBackLosers();
  EXPECT_EQ(manager.LoserCount(), 0u);
  EXPECT_EQ(fixture_.Cell(1), 0u);
}

TEST_F(UndoTest, APreparedTransactionThatCannotBeCommittedStopsTheLog) {
  Txn txn;
  ASSERT_TRUE(fixture_.Write(&txn, 1, 5).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("promised")).ok());
  ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
  {
    Result<PageGuard> header =
        fixture_.pool().Fix({kUndoSpace, txn.undo.header.page}, LatchMode::kExclusive);
    ASSERT_TRUE(header.ok());
    header->mutable_page()[txn.undo.header.offset + kUndoTypeOffset] = std::byte{0x7f};
  }
  EXPECT_TRUE(fixture_.manager().Commit(&txn, Durability::kDurable, true).Is(Code::kStopped));
  EXPECT_EQ(txn.state, TxnState::kPrepared);
  EXPECT_TRUE(fixture_.log().stopped());
  ASSERT_TRUE(fixture_.Start().ok());
  EXPECT_EQ(fixture_.manager().detached().PreparedXids(), std::vector<std::string>{"promised"});
  EXPECT_TRUE(fixture_.manager().CommitPrepared("promised", Durability::kDurable).ok());
  EXPECT_EQ(fixture_.Cell(1), 5u);
}

TEST_F(UndoTest, PreparedTransactionsWaitForTheirCoordinator) {
  Txn first;
  Txn second;
  Txn third;
  ASSERT_TRUE(fixture_.Write(&first, 1, 5).ok());
  for (int i = 0; i < 100; ++i) ASSERT_TRUE(fixture_.Write(&second, 8, 6).ok());
  ASSERT_TRUE(fixture_.Write(&third, 3, 7).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(&first, AsBytes("xid one")).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(&second, AsBytes("xid two")).ok());
  EXPECT_EQ(second.state, TxnState::kPrepared);
  KillAndStart();
  fixture_.RollBackLosers();
  EXPECT_EQ(fixture_.Cell(3), 0u);
  EXPECT_EQ(fixture_.Cell(1), 5u);
  std::vector<std::string> xids = fixture_.manager().detached().PreparedXids();
  std::sort(xids.begin(), xids.end());
  EXPECT_EQ(xids, (std::vector<std::string>{"xid one", "xid two"}));
  EXPECT_TRUE(
      fixture_.manager().CommitPrepared("no such", Durability::kDurable).Is(Code::kNotFound));
  EXPECT_TRUE(fixture_.manager().CommitPrepared("xid one", Durability::kDurable).ok());
  EXPECT_TRUE(fixture_.manager().RollbackPrepared("xid two").ok());
  EXPECT_EQ(fixture_.Cell(1), 5u);
  EXPECT_EQ(fixture_.Cell(8), 0u);
  KillAndStart();
  EXPECT_TRUE(fixture_.manager().detached().PreparedXids().empty());
  EXPECT_EQ(fixture_.manager().HistoryLength(), 1u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, APreparedTransactionMayGetAnotherXidOfItsLength) {
  Txn txn;
  auto detached = std::make_unique<Txn>();
  ASSERT_TRUE(fixture_.Write(&txn, 1, 5).ok());
  ASSERT_TRUE(fixture_.Write(detached.get(), 3, 7).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(&txn, AsBytes("one?")).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(detached.get(), AsBytes("two?")).ok());
  EXPECT_TRUE(fixture_.manager()
                  .RenamePrepared(&txn, AsBytes("longer"))
                  .status()
                  .Is(Code::kInvalidArgument));
  EXPECT_TRUE(fixture_.manager().RenamePrepared(&txn, AsBytes("one!")).ok());
  fixture_.manager().KeepPrepared(std::move(detached));
  EXPECT_TRUE(fixture_.manager().RenamePrepared("two?", "two!").ok());
  EXPECT_TRUE(fixture_.manager().RenamePrepared("two?", "two!").Is(Code::kNotFound));
  KillAndStart();
  std::vector<std::string> xids = fixture_.manager().detached().PreparedXids();
  std::sort(xids.begin(), xids.end());
  EXPECT_EQ(xids, (std::vector<std::string>{"one!", "two!"}));
  EXPECT_TRUE(fixture_.manager().RollbackPrepared("one!").ok());
  EXPECT_TRUE(fixture_.manager().CommitPrepared("two!", Durability::kDurable).ok());
  EXPECT_EQ(fixture_.Cell(1), 0u);
  EXPECT_EQ(fixture_.Cell(3), 7u);
  fixture_.CheckAll();
}

TEST_F(UndoTest, ADetachedPreparedTransactionLivesOn) {
  auto txn = std::make_unique<Txn>();
  ASSERT_TRUE(fixture_.Write(txn.get(), 1, 5).ok());
  ASSERT_TRUE(fixture_.manager().Prepare(txn.get(), AsBytes("x")).ok());
  fixture_.manager().KeepPrepared(std::move(txn));
  EXPECT_EQ(fixture_.manager().detached().PreparedXids().size(), 1u);
  EXPECT_TRUE(fixture_.manager().RollbackPrepared("x").ok());
  EXPECT_EQ(fixture_.Cell(1), 0u);
}

TEST_F(UndoTest, WhatMustNotRunTwiceIsMarked) {
  Txn txn;
  ASSERT_TRUE(fixture_.LogDrop(&txn, UndoType::kBlobDrop, "blob").ok());
  ASSERT_TRUE(fixture_.Write(&txn, 1, 2).ok());
  ASSERT_TRUE(fixture_.LogDrop(&txn, UndoType::kExtension, "file").ok());
  Commit(&txn);
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged, (std::vector<std::string>{"15:blob", "1=0", "20:file"}));
  KillAndStart();
  fixture_.Purge();
  EXPECT_EQ(fixture_.purged, (std::vector<std::string>{"1=0"})) << "the others ran already";
}

TEST(UndoPageTest, GarbageIsNoRecord) {
  std::byte page[4096] = {};
  InitUndoPage(page, {kUndoSpace, PageNumber(9)}, {3, kNoPage});
  std::byte* end = WriteUndoRecord(page + kUndoRecordsOffset, UndoType::kSecondaryInsert,
                                   IndexId(1u << 20), {AsBytes("payload")});
  const auto free = static_cast<size_t>(end - page);
  UndoRecordInPage record;
  EXPECT_TRUE(ParseUndoRecord(page, kUndoRecordsOffset, free, &record));
  EXPECT_EQ(AsText(record.payload), "payload");
  EXPECT_EQ(UndoRecordBefore(page, free), kUndoRecordsOffset);
  EXPECT_FALSE(ParseUndoRecord(page, kUndoRecordsOffset, free - 1, &record));
  EXPECT_FALSE(ParseUndoRecord(page, free, free, &record));
  for (size_t offset = kUndoRecordsOffset; offset < 200; ++offset) {
    for (const unsigned value : {0u, 1u, 0x7Fu, 0xFFu}) {
      std::byte damaged[4096];
      std::copy(std::begin(page), std::end(page), std::begin(damaged));
      damaged[offset] = static_cast<std::byte>(value);
      if (ParseUndoRecord(damaged, kUndoRecordsOffset, free, &record)) {
        EXPECT_GE(record.payload.data(), damaged + kUndoRecordsOffset);
        EXPECT_LE(record.payload.data() + record.payload.size(), damaged + free);
      }
      static_cast<void>(UndoRecordBefore(damaged, free));
    }
  }
}

}  // namespace
}  // namespace rowan
