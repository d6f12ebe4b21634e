// SPDX-License-Identifier: GPL-2.0-only
// Damage in undo: purge passes over the stream, and no more transactions are written to it.
#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "base/logging.h"
#include "buffer/buffer_redo.h"
#include "mvcc/undo/undo_page.h"
#include "tests/mvcc/undo_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::undo_damage_test {
namespace {

/// Every record is of a padded cell: some 330 bytes, so 12 of them fill a page of 4 KiB.
constexpr uint32_t kPageBytes = 4096;
constexpr uint64_t kRecords = 300;

class UndoDamageTest : public ::testing::Test {
 protected:
  UndoDamageTest() : fixture_(1, kPageBytes) {}
  void SetUp() override { fixture_.Create(); }
  void WriteMany(Txn* txn, uint32_t cell, uint64_t count = kRecords) {
    for (uint64_t i = 0; i < count; ++i) ASSERT_TRUE(fixture_.Write(txn, cell, i + 1).ok());
  }
  void Commit(Txn* txn) {
    ASSERT_TRUE(fixture_.manager().Commit(txn, Durability::kDurable, true).ok());
  }
  void KillAndStart() {
    ASSERT_TRUE(fixture_.manager().MakeDurable().ok());
    const Status status = fixture_.Start();
    ASSERT_TRUE(status.ok()) << status.message();
  }

  UndoFixture fixture_;
};

TEST_F(UndoDamageTest, DamageInHistoryStopsThePurgeOfItsStreamOnly) {
  Txn first;
  Txn second;
  WriteMany(&first, 8);
  WriteMany(&second, 16);
  Commit(&first);
  Commit(&second);
  KillAndStart();
  // The second page of the first stream becomes something else.
  {
    const Result<uint64_t> directory = fixture_.allocator().ReadCounter(kUndoSpace);
    MiniTxn mini_txn(&fixture_.pool());
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
    if (!fixture_.PurgeUnit(0, 1).ok()) ++failures;
  }
  SetLogSink({});
  EXPECT_EQ(failures, 1u) << "damage is met once";
  EXPECT_EQ(fixture_.manager().HistoryLength(), 1u);
  EXPECT_EQ(fixture_.manager().DescribePurge().damaged_streams, 1u);
  const uint64_t pages = fixture_.undo().Statistics().pages;
  for (int i = 0; i < 20; ++i) {
    // More at a time than streams are free: the damaged one would be among them.
    Txn later;
    Txn another;
    WriteMany(&later, 24, 30);
    WriteMany(&another, 32, 30);
    Commit(&later);
    Commit(&another);
    fixture_.Purge();
  }
  EXPECT_EQ(fixture_.manager().HistoryLength(), 1u) << "the stream is given to nobody";
  EXPECT_LE(fixture_.undo().Statistics().pages, pages + 4);
  EXPECT_GE(std::count(fixture_.purged.begin(), fixture_.purged.end(), "16=299"), 1);
}

TEST_F(UndoDamageTest, ATransactionLeavesAStreamWhoseLastPageIsDamaged) {
  Txn first;
  WriteMany(&first, 8);
  const PageId tail{kUndoSpace, first.undo.stream->tail};
  Commit(&first);
  {
    MiniTxn mini_txn(&fixture_.pool());
    ASSERT_TRUE(mini_txn.Start(4096).ok());
    Result<MutablePage> page = mini_txn.Fix(tail);
    ASSERT_TRUE(page.ok());
    const std::vector<std::byte> ones(2, std::byte{0xFF});
    LogPageBytes(&mini_txn, page.value(), kUndoFreeOffset, ones);
    mini_txn.Commit();
  }
  const LogCapture log;
  Txn second;
  EXPECT_TRUE(fixture_.Write(&second, 16, 1).Is(Code::kCorrupt));
  EXPECT_TRUE(fixture_.Write(&second, 16, 1).ok()) << "in another stream";
  Commit(&second);
  Txn third;
  EXPECT_TRUE(fixture_.Write(&third, 24, 1).ok());
  Commit(&third);
  EXPECT_EQ(fixture_.undo().damaged_count(), 1u);
  EXPECT_TRUE(log.Has("no more transactions are written to the stream")) << log.Text();
}

}  // namespace
}  // namespace rowan::undo_damage_test
