// SPDX-License-Identifier: GPL-2.0-only
// Rollbacks that fail: nobody stays locked once what they met is gone, and a full disk is met by
// ordinary work before it is by them.
#include <gtest/gtest.h>

#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::healing_test {
namespace {

constexpr uint64_t kRows = 400;
/// Between the ids of two rows there is room for others.
constexpr uint64_t kIdStep = 1000;
constexpr uint64_t kUnused = uint64_t{1} << 24;
constexpr uint32_t kPoolPages = 128;

uint64_t IdOf(uint64_t row) { return row * kIdStep; }

ToyRow RowWith(uint64_t id, size_t text_bytes) {
  return {static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id), std::string(text_bytes, 'r')};
}

class HealingTest : public ::testing::Test {
 protected:
  HealingTest() : world_(TestSeed()) {
    world_.options.storage.buffer.pool_bytes =
        uint64_t{kPoolPages} * world_.options.storage.page_size_bytes;
  }

  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/healing");
    ASSERT_NE(table_, nullptr);
    const std::unique_ptr<Session> session = Begin();
    for (uint64_t row = 1; row <= kRows; ++row) {
      const uint64_t id = IdOf(row);
      rows_[id] = RowWith(id, 300);
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table_.get(), id, rows_[id]).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
  }

  /// Files stay as large as they are.
  void FillDisk() {
    for (const FileCall call : {FileCall::kAllocate, FileCall::kTruncate}) {
      world_.files.Inject(
          {.call = call, .path_part = FileOf(*table_), .lasting = true, .code = Code::kNoSpace});
    }
  }
  /// Reads of what is not in the pool fail. All pages leave it first.
  void LoseDisk(const std::string& path_part) {
    DropPages();
    world_.files.Inject({.call = FileCall::kRead, .path_part = path_part, .lasting = true});
  }
  void DropPages() {
    BufferPool* const pool = world_.engine->impl()->storage->pool();
    ASSERT_TRUE(pool->FlushAndCheckpoint().ok());
    std::shared_ptr<Table> other = world_.CreateTable("test/other" + std::to_string(++others_));
    ASSERT_NE(other, nullptr);
    const uint64_t pool_bytes = world_.options.storage.buffer.pool_bytes;
    world_.Fill(other.get(), pool_bytes / 500, [](uint64_t id) { return RowWith(id, 900); });
    world_.ReadAll(other.get());
    ASSERT_TRUE(pool->FlushAndCheckpoint().ok());
  }
  [[nodiscard]] std::string FileOf(const Table& table) const {
    const std::string path = world_.engine->impl()->storage->files()->PathOf(table.space());
    return path.substr(path.rfind('/') + 1);
  }

  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    return session;
  }
  /// Rows `first` to `last`, each `step`-th of them; the model stays.
  Status Change(Session* session, size_t text_bytes, uint64_t first = 1, uint64_t last = kRows,
                uint64_t step = 1) {
    Status status;
    for (uint64_t row = first; row <= last && status.ok(); row += step) {
      const uint64_t id = IdOf(row);
      status = EngineFixture::Update(session, table_.get(), id, rows_[id], RowWith(id, text_bytes));
    }
    return status;
  }
  /// Between the rows there are, until there is no room for more.
  void UseUpTheSpace() {
    std::unique_ptr<Session> session = Begin();
    Status status;
    for (uint64_t offset = 1; offset < kIdStep && status.ok(); ++offset) {
      for (uint64_t row = 1; row <= kRows && status.ok(); ++row) {
        const uint64_t id = IdOf(row) + offset;
        status = EngineFixture::Insert(session.get(), table_.get(), id, RowWith(id, 40));
        if (status.ok()) rows_[id] = RowWith(id, 40);
      }
      EXPECT_TRUE(session->Commit().ok());
      session->Begin(IsolationLevel::kRepeatableRead);
    }
    EXPECT_TRUE(status.Is(Code::kNoSpace)) << status.message();
  }
  /// Every row can be had, and is what it was.
  void ExpectHealed() {
    world_.files.ClearFaults();
    EXPECT_TRUE(Await([this] { return world_.engine->Transactions().empty(); }));
    EXPECT_EQ(world_.engine->Figures().failed_rollbacks, 0U);
    std::unique_ptr<Session> session = Begin();
    session->SetLockWait({.timeout_s = 0});
    for (const auto& [id, row] : rows_) {
      ToyRow found;
      const Status status = EngineFixture::ReadForUpdate(session.get(), table_.get(), id, &found);
      ASSERT_TRUE(status.ok()) << "row " << id << ": " << status.message();
    }
    EXPECT_TRUE(session->Rollback().ok());
    world_.ExpectTable(table_->id(), rows_);
    EXPECT_TRUE(Await([this] { return world_.engine->Figures().purge.history_length == 0; }));
    EXPECT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    EXPECT_FALSE(world_.engine->stopped());
  }

  EngineFixture world_;
  std::shared_ptr<Table> table_;
  ToyRows rows_;
  uint32_t others_ = 0;
};

TEST_F(HealingTest, OrdinaryWorkLeavesRollbackThePagesThatItNeeds) {
  std::unique_ptr<Session> session = Begin();
  ASSERT_TRUE(Change(session.get(), 20, 1, 12).ok());
  FillDisk();
  UseUpTheSpace();
  const Status status = session->Rollback();
  EXPECT_TRUE(status.ok()) << status.message();
  ExpectHealed();
}

TEST_F(HealingTest, RollbacksBesideEachOtherOnAFullDiskAreThroughWhenItHasRoom) {
  std::vector<std::unique_ptr<Session>> sessions;
  for (uint64_t number = 0; number < 4; ++number) {
    sessions.push_back(Begin());
    ASSERT_TRUE(Change(sessions.back().get(), 5, 1 + number, kRows, 4).ok());
  }
  FillDisk();
  UseUpTheSpace();
  uint64_t failed = 0;
  const LogCapture log;
  for (const auto& session : sessions) failed += session->Rollback().Is(Code::kNoSpace) ? 1 : 0;
  EXPECT_NE(failed, 0U) << "the pages kept were enough: the test shows nothing";
  EXPECT_GE(world_.engine->Figures().failed_rollbacks, 1U);
  EXPECT_TRUE(log.Has("It is tried again until it succeeds")) << log.Text();
  ExpectHealed();
  EXPECT_TRUE(log.Has("which had failed, is complete")) << log.Text();
}

TEST_F(HealingTest, ARollbackThatCannotReadIsThroughWhenItCan) {
  std::unique_ptr<Session> session = Begin();
  ASSERT_TRUE(Change(session.get(), 250).ok());
  LoseDisk(FileOf(*table_));
  EXPECT_TRUE(session->Rollback().Is(Code::kIoError));
  ExpectHealed();
}

TEST_F(HealingTest, WhatASavepointLeftHalfUndoneCannotBeCommittedUntilItIsUndone) {
  std::unique_ptr<Session> session = Begin();
  ASSERT_TRUE(Change(session.get(), 310, 1, 1).ok());
  rows_[IdOf(1)] = RowWith(IdOf(1), 310);
  const UndoPosition early = session->Savepoint();
  ASSERT_TRUE(Change(session.get(), 200, 2, 2).ok());
  const UndoPosition late = session->Savepoint();
  ASSERT_TRUE(Change(session.get(), 250, 3).ok());
  LoseDisk(FileOf(*table_));
  EXPECT_TRUE(session->RollbackTo(late).Is(Code::kIoError));
  world_.files.ClearFaults();
  EXPECT_TRUE(session->CheckUsable().Is(Code::kIoError));
  EXPECT_FALSE(session->Prepare(AsBytes(std::string_view("half"))).ok());
  EXPECT_TRUE(session->Commit().Is(Code::kIoError)) << "half of what was to be undone is there";
  EXPECT_FALSE(
      EngineFixture::Insert(session.get(), table_.get(), kUnused, RowWith(kUnused, 1)).ok());
  EXPECT_TRUE(session->RollbackTo(early).ok());
  EXPECT_TRUE(session->Commit().ok()) << "it is as it was at the savepoint";
  session.reset();
  ExpectHealed();
}

TEST_F(HealingTest, ATemporaryTableShowsNothingThatIsYetToBeUndone) {
  Result<std::shared_ptr<Table>> made =
      world_.engine->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1);
  ASSERT_TRUE(made.ok());
  const std::shared_ptr<Table> table = *made;
  std::unique_ptr<Session> session = Begin();
  Result<Session*> part = session->Temporary();
  ASSERT_TRUE(part.ok());
  for (uint64_t id = 1; id <= kRows; ++id) {
    ASSERT_TRUE(EngineFixture::Insert(*part, table.get(), id, RowWith(id, 300)).ok());
  }
  LoseDisk(".temporary");
  EXPECT_TRUE(session->Rollback().Is(Code::kIoError));
  session->Begin(IsolationLevel::kRepeatableRead);
  EXPECT_TRUE(session->Temporary().status().Is(Code::kBusy));
  world_.files.ClearFaults();
  EXPECT_TRUE(Await([&] { return session->Temporary().ok(); }));
  StoredRow row;
  TableCursor cursor(session->Temporary().value(), table.get(), &ToyCodec());
  cursor.OpenScan(0);
  EXPECT_TRUE(cursor.SeekFirst(&row).Is(Code::kEndOfRange));
  cursor.CloseScan();
  EXPECT_TRUE(session->Rollback().ok());
  ASSERT_TRUE(world_.engine->DropTemporaryTable(table->id()).ok());
  ExpectHealed();
}

TEST_F(HealingTest, ARollbackThatMetDamageIsThroughWhenTheTableIsDropped) {
  const std::shared_ptr<Table> other = world_.CreateTable("test/damaged");
  world_.Fill(other.get(), 1000, [](uint64_t id) { return RowWith(id, 300); });
  std::unique_ptr<Session> session = Begin();
  ASSERT_TRUE(Change(session.get(), 250, 1, 3).ok());
  for (uint64_t id = 1; id <= 1000; ++id) {
    ASSERT_TRUE(
        EngineFixture::Update(session.get(), other.get(), id, RowWith(id, 300), RowWith(id, 290))
            .ok());
  }
  DropPages();
  const std::string path = world_.engine->impl()->storage->files()->PathOf(other->space());
  const uint32_t page_bytes = world_.options.storage.page_size_bytes;
  for (uint64_t page = 8; world_.files.FlipBit(path, page * page_bytes + 100, 3); ++page) {
  }
  {
    const LogCapture log;
    EXPECT_TRUE(session->Rollback().Is(Code::kCorrupt));
    EXPECT_TRUE(log.Has("tried again when a table is dropped")) << log.Text();
  }
  std::unique_ptr<Session> dropping = Begin();
  const LogCapture log;
  const Status dropped = world_.engine->DropTable(dropping.get(), other->id());
  ASSERT_TRUE(dropped.ok()) << dropped.message();
  ASSERT_TRUE(dropping->Commit().ok());
  dropping->FinishDdl();
  ExpectHealed();
}

TEST_F(HealingTest, AShutdownWritesWhatItCanWhenATablesCounterCannotBeRead) {
  const std::shared_ptr<Table> other = world_.CreateTable("test/counted");
  for (Table* const table : {table_.get(), other.get()}) {
    table->TakeAutoIncrement({}, 1000);
  }
  LoseDisk(FileOf(*table_));
  const TableId id = other->id();
  const uint64_t next = other->auto_increment();
  table_.reset();
  {
    const LogCapture log;
    const Status closed = world_.engine->Close();
    EXPECT_TRUE(closed.ok()) << closed.message();
    EXPECT_TRUE(log.Has("AUTO_INCREMENT value of table 'test/healing'")) << log.Text();
  }
  world_.files.ClearFaults();
  world_.engine.reset();
  const LogCapture log;
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_FALSE(log.Has("Crash recovery")) << log.Text();
  Result<std::shared_ptr<Table>> opened = world_.engine->OpenTable(id);
  ASSERT_TRUE(opened.ok());
  EXPECT_EQ((*opened)->auto_increment(), next);
}

}  // namespace
}  // namespace rowan::healing_test
