// SPDX-License-Identifier: GPL-2.0-only
// Temporary tables: the same rows, rollbacks and savepoints as elsewhere, without log, doublewrite
// or syncs, and nothing left of them afterwards.
#include <gtest/gtest.h>

#include <algorithm>

#include "base/counters.h"
#include "base/random.h"
#include "engine/engine_impl.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/log_capture.h"

namespace rowan::temporary_test {
namespace {

ToyRow MakeRow(uint64_t id, uint32_t value) {
  return {value, static_cast<uint32_t>(id), "text of " + std::to_string(id)};
}

/// A session with a temporary table, and what its rows should be.
class TemporaryTest : public ::testing::Test {
 protected:
  TemporaryTest() : world_(TestSeed()) {}

  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    Begin();
  }
  void Begin() {
    session_ = world_.engine->NewSession();
    table_ = NewTable();
  }
  void TearDown() override {
    table_.reset();
    session_.reset();
  }

  std::shared_ptr<Table> NewTable() {
    Result<std::shared_ptr<Table>> table =
        world_.engine->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1);
    EXPECT_TRUE(table.ok()) << table.status().message();
    return table.ok() ? *table : nullptr;
  }

  /// The part of the session for temporary tables, in a transaction and a statement.
  Session* Enter() {
    session_->Begin(IsolationLevel::kRepeatableRead);
    session_->StartStatement();
    Result<Session*> part = session_->Temporary();
    EXPECT_TRUE(part.ok());
    return *part;
  }
  void Insert(uint64_t first, uint64_t last, const std::string& blob = {}) {
    Session* part = Enter();
    for (uint64_t id = first; id <= last; ++id) {
      model_[id] = MakeRow(id, static_cast<uint32_t>(id % 7));
      model_[id].blob = blob;
      ASSERT_TRUE(EngineFixture::Insert(part, table_.get(), id, model_[id]).ok());
    }
  }
  void Update(uint64_t id, uint32_t value) {
    ToyRow after = MakeRow(id, value);
    ASSERT_TRUE(EngineFixture::Update(Enter(), table_.get(), id, model_.at(id), after).ok());
    model_[id] = after;
  }
  void Delete(uint64_t id) {
    ASSERT_TRUE(EngineFixture::Delete(Enter(), table_.get(), id, model_.at(id)).ok());
    model_.erase(id);
  }
  void Commit() { ASSERT_TRUE(session_->Commit().ok()); }

  /// By each index, as the session reads: rows as they are.
  void ExpectRows() {
    Session* part = Enter();
    TableCursor cursor(part, table_.get(), &ToyCodec(), {.mode = ReadMode::kReadUncommitted});
    for (uint32_t index = 0; index < table_->index_count(); ++index) {
      Result<uint64_t> count = cursor.CountEntries(index);
      ASSERT_TRUE(count.ok());
      EXPECT_EQ(*count, model_.size()) << "index " << index;
    }
    ToyRows rows;
    cursor.OpenScan(0);
    StoredRow stored;
    Status status = cursor.SeekFirst(&stored);
    for (; status.ok(); status = cursor.Next(&stored)) {
      ToyRow* row = &rows[LoadBe64(stored.key.data())];
      ASSERT_TRUE(EngineFixture::Decode(part, stored.value, row).ok());
    }
    EXPECT_EQ(status.code(), Code::kEndOfRange);
    cursor.CloseScan();
    EXPECT_EQ(rows, model_);
  }
  /// Structure, space, and that no garbage is left.
  void ExpectClean() {
    for (size_t index = 0; index < table_->index_count(); ++index) {
      size_t entries = 0;
      const Status status = world_.engine->CheckIndex(table_.get(), index, [&](Bytes, Bytes) {
        ++entries;
        return Status::Ok();
      });
      EXPECT_TRUE(status.ok()) << status.message();
      EXPECT_EQ(entries, model_.size()) << "index " << index;
    }
    const Status space = world_.engine->CheckSpace(table_.get(), FindToyBlobs);
    EXPECT_TRUE(space.ok()) << space.message();
  }
  size_t TemporaryFiles() {
    Result<std::vector<std::string>> names = world_.files.List(world_.options.storage.folder);
    EXPECT_TRUE(names.ok());
    return static_cast<size_t>(
        std::count_if(names->begin(), names->end(),
                      [](const std::string& name) { return name.ends_with(kTemporarySuffix); }));
  }

  EngineFixture world_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Table> table_;
  ToyRows model_;
};

TEST_F(TemporaryTest, RowsAreThereUntilTheyAreRolledBack) {
  const std::string blob(3 * world_.options.storage.page_size_bytes, 'b');
  Insert(1, 200);
  Insert(201, 210, blob);
  Commit();
  ExpectRows();
  const ToyRows committed = model_;
  Insert(301, 320, blob);
  for (uint64_t id = 1; id <= 50; ++id) Update(id, 99);
  for (uint64_t id = 201; id <= 205; ++id) Delete(id);
  ExpectRows();
  // The pages of deleted values are not taken for lost ones.
  EXPECT_TRUE(world_.engine->CheckSpace(table_.get(), FindToyBlobs).ok());
  ASSERT_TRUE(session_->Rollback().ok());
  model_ = committed;
  ExpectRows();
  Commit();
  ExpectClean();
}

TEST_F(TemporaryTest, StatementsAndSavepointsGoBackAlone) {
  Insert(1, 10);
  EXPECT_TRUE(session_->EndStatement(StatementEnd::kKeep).ok());
  ToyRows kept = model_;
  Update(3, 77);
  Delete(4);
  EXPECT_TRUE(session_->EndStatement(StatementEnd::kUndo).ok());
  model_ = kept;
  ExpectRows();
  Insert(11, 12);
  kept = model_;
  const Session::Place place = session_->CurrentPlace();
  Delete(11);
  Insert(20, 25);
  ASSERT_TRUE(session_->ReturnTo(place).ok());
  model_ = kept;
  ExpectRows();
  Commit();
  ExpectRows();
  Commit();
  ExpectClean();
}

TEST_F(TemporaryTest, ASavepointBeforeTheFirstChangeTakesAllBack) {
  session_->Begin(IsolationLevel::kRepeatableRead);
  const Session::Place place = session_->CurrentPlace();
  Insert(1, 30);
  ASSERT_TRUE(session_->ReturnTo(place).ok());
  model_.clear();
  ExpectRows();
  Commit();
  ExpectClean();
}

TEST_F(TemporaryTest, ACommitLeavesNoGarbage) {
  const std::string blob(2 * world_.options.storage.page_size_bytes, 'b');
  Insert(1, 300);
  Insert(301, 305, blob);
  Commit();
  for (uint64_t id = 1; id <= 305; id += 2) Delete(id);
  for (uint64_t id = 2; id <= 300; id += 4) Update(id, 5);
  Commit();
  ExpectClean();
  EXPECT_EQ(world_.engine->impl()->TxnsOf(*table_)->HistoryLength(), 0U);
}

TEST_F(TemporaryTest, NothingIsLogged) {
  Insert(1, 5);
  Commit();
  const Lsn tail = world_.engine->impl()->storage->log()->tail();
  Insert(6, 500);
  Update(7, 70);
  ASSERT_TRUE(session_->EndStatement(StatementEnd::kUndo).ok());
  Insert(501, 600);
  Delete(501);
  Commit();
  EXPECT_EQ(world_.engine->impl()->storage->log()->tail(), tail);
  ASSERT_TRUE(world_.engine->DropTemporaryTable(table_->id()).ok());
  EXPECT_EQ(world_.engine->impl()->storage->log()->tail(), tail);
}

TEST_F(TemporaryTest, StatisticsAreNotKept) {
  Insert(1, 100);
  Commit();
  const Lsn tail = world_.engine->impl()->storage->log()->tail();
  ASSERT_TRUE(world_.engine->RefreshStatistics(table_.get()).ok());
  EXPECT_EQ(table_->statistics().rows, 100U);
  EXPECT_EQ(world_.engine->impl()->storage->log()->tail(), tail);
}

TEST_F(TemporaryTest, TheirPagesLeaveAShrinkingPool) {
  const uint64_t pool_bytes = world_.options.storage.buffer.pool_bytes;
  ASSERT_TRUE(world_.engine->SetBufferPoolBytes(4 * pool_bytes).ok());
  Insert(1, 2 * pool_bytes / 2048, std::string(1024, 'b'));
  ASSERT_TRUE(world_.engine->SetBufferPoolBytes(pool_bytes).ok());
  ExpectRows();
  ASSERT_TRUE(session_->Rollback().ok());
  model_.clear();
  ExpectRows();
  Commit();
  ExpectClean();
}

TEST_F(TemporaryTest, MoreThanThePoolHolds) {
  ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
  const uint64_t written = ReadCounter(Counter::kPagesWritten);
  const uint64_t doublewritten = ReadCounter(Counter::kDoublewritePages);
  const uint64_t syncs = ReadCounter(Counter::kDataSyncs);
  const uint64_t pool_bytes = world_.options.storage.buffer.pool_bytes;
  const std::string blob(world_.options.storage.page_size_bytes / 2, 'x');
  const uint64_t rows = 3 * pool_bytes / (2 * blob.size());
  Insert(1, rows, blob);
  Commit();
  for (uint64_t id = 5; id <= rows; id += 10) Delete(id);
  Commit();
  ExpectRows();
  Insert(rows + 1, rows + rows / 4, blob);
  ASSERT_TRUE(session_->Rollback().ok());
  for (uint64_t id = rows + 1; id <= rows + rows / 4; ++id) model_.erase(id);
  ExpectRows();
  Commit();
  ExpectClean();
  EXPECT_GE(ReadCounter(Counter::kPagesWritten) - written, rows / 6);
  EXPECT_EQ(ReadCounter(Counter::kDoublewritePages), doublewritten);
  EXPECT_EQ(ReadCounter(Counter::kDataSyncs), syncs);
}

TEST_F(TemporaryTest, PagesOfBothKindsLeaveASmallPoolTogether) {
  const std::shared_ptr<Table> lasting = world_.CreateTable("test/t");
  ToyRows lasting_rows;
  Random random(TestSeed());
  for (int turn = 0; turn < 40; ++turn) {
    Insert(uint64_t(turn) * 100 + 1, uint64_t(turn) * 100 + 100);
    for (uint64_t id = uint64_t(turn) * 100; id < uint64_t(turn) * 100 + 100; ++id) {
      lasting_rows[id] = MakeRow(id, static_cast<uint32_t>(random.Below(1000)));
      lasting_rows[id].text = std::string(200, 'l');
      ASSERT_TRUE(EngineFixture::Insert(session_.get(), lasting.get(), id, lasting_rows[id]).ok());
    }
    Commit();
  }
  ExpectRows();
  Commit();
  ExpectClean();
  const TableId id = lasting->id();
  TearDown();
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(id, lasting_rows);
}

TEST_F(TemporaryTest, ADroppedTableMeansNothingToItsTransaction) {
  Insert(1, 100, std::string(world_.options.storage.page_size_bytes, 'b'));
  ASSERT_TRUE(world_.engine->DropTemporaryTable(table_->id()).ok());
  EXPECT_TRUE(world_.engine->OpenTable(table_->id()).status().Is(Code::kNotFound));
  ASSERT_TRUE(session_->Rollback().ok());
  table_ = NewTable();
  model_.clear();
  Insert(1, 20);
  Delete(3);
  ASSERT_TRUE(world_.engine->DropTemporaryTable(table_->id()).ok());
  Commit();
  EXPECT_EQ(TemporaryFiles(), 1U);  // undo
}

TEST_F(TemporaryTest, FilesAreGoneAfterACrashAndAfterAShutdown) {
  Insert(1, 100);
  EXPECT_EQ(TemporaryFiles(), 2U);
  TearDown();
  world_.Crash(TestSeed());
  {
    const LogCapture messages;
    ASSERT_TRUE(world_.Open().ok());
    EXPECT_EQ(messages.Text().find("space_"), std::string::npos) << messages.Text();
  }
  EXPECT_EQ(TemporaryFiles(), 0U);
  Begin();
  ASSERT_EQ(TemporaryFiles(), 2U);
  TearDown();
  ASSERT_TRUE(world_.Shutdown().ok());
  EXPECT_EQ(TemporaryFiles(), 0U);
}

}  // namespace
}  // namespace rowan::temporary_test
