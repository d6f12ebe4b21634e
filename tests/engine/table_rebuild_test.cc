// SPDX-License-Identifier: GPL-2.0-only
// A table that is made anew while it is in use: what the new one holds, with the same keys and with
// others, and that after a rollback or a crash there is nothing of it.
#include "engine/build/table_rebuild.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/await_purge.h"
#include "tests/engine/changing_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_conversion.h"

namespace rowan::table_rebuild_test {
namespace {

constexpr uint64_t kRows = 600;
constexpr size_t kLeastSortBytes = 1;
constexpr int kPhases = 3;
using Keys = TableRebuild::Keys;

ToyRow MakeRow(uint64_t id) {
  return {static_cast<uint32_t>(id % 37), static_cast<uint32_t>(id * 4), std::string(id % 90, 't'),
          std::string(id % 5 == 0 ? id * 20 : 0, 'b')};
}

class TableRebuildTest : public ::testing::TestWithParam<Keys> {
 protected:
  TableRebuildTest() : world_(TestSeed()) {
    EXPECT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/rebuild");
    model_ = world_.Fill(table_.get(), kRows, MakeRow);
  }

  void Start() {
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
    conversion_ = std::make_unique<ToyConversion>(session_.get(), &record_, GetParam());
    const OnlineScan::Rows rows{&codec_, nullptr, &record_};
    rebuild_ = std::make_unique<TableRebuild>(session_.get(), table_, rows, conversion_.get(),
                                              GetParam(), BuildLimits{kLeastSortBytes});
    ASSERT_TRUE(rebuild_->Start(EngineFixture::ToyDefinition("test/rebuild")).ok());
  }
  void Finish() {
    ASSERT_TRUE(rebuild_->Finish(0).ok());
    table_ = rebuild_->table();
    rebuild_.reset();
    ASSERT_TRUE(session_->Commit().ok());
    session_->FinishDdl();
    session_.reset();
    if (GetParam() == Keys::kSame) return;
    ToyRows mirrored;
    for (const auto& [id, row] : model_) mirrored[kToyMirror - id] = row;
    model_ = std::move(mirrored);
  }
  void Change(Session* session, uint64_t id, const ToyRow& row) {
    ChangeRow(session, table_.get(), &model_, id, row);
  }
  /// The only table there is.
  void Expect() {
    const TableId id = table_->id();
    table_.reset();
    rebuild_.reset();
    AwaitPurge(*world_.engine);
    ASSERT_EQ(world_.engine->ListTables().size(), 1u);
    EXPECT_EQ(world_.engine->ListTables().front().id, id);
    world_.ExpectTable(id, model_);
    table_ = world_.engine->OpenTable(id).value();
  }
  void Reopen() {
    rebuild_.reset();
    table_.reset();
    session_.reset();
    world_.Crash(TestSeed());
    ASSERT_TRUE(world_.Open().ok());
    while (!world_.engine->Transactions().empty()) std::this_thread::yield();
    table_ = world_.engine->OpenTable(world_.engine->ListTables().front().id).value();
  }

  EngineFixture world_;
  ToyBlobCodec codec_;
  StoredRow record_;
  std::shared_ptr<Table> table_;
  ToyRows model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<ToyConversion> conversion_;
  std::unique_ptr<TableRebuild> rebuild_;
};
INSTANTIATE_TEST_SUITE_P(Keys, TableRebuildTest, ::testing::Values(Keys::kSame, Keys::kOther));

TEST_P(TableRebuildTest, HasTheRowsInAnotherFile) {
  const SpaceId before = table_->space();
  Start();
  ASSERT_TRUE(rebuild_->Build().ok());
  Finish();
  EXPECT_NE(table_->space(), before);
  Expect();
  Reopen();
  Expect();
}

TEST_P(TableRebuildTest, RowsThatAreChangedMeanwhileAreFollowed) {
  std::unique_ptr<Session> other = world_.engine->NewSession();
  Start();
  other->Begin(IsolationLevel::kRepeatableRead);
  Change(other.get(), 7, {50, 1'000'007, "before the scan", std::string(9000, 'l')});
  ASSERT_TRUE(rebuild_->Build().ok());
  // Two rows change places in the unique index, one comes, two go, blobs come and go.
  const ToyRow third = model_[3];
  const ToyRow fifth = model_[5];
  Change(other.get(), 3, {1, 1'000'003, "away"});
  Change(other.get(), 5, {third.value, third.unique, "5"});
  Change(other.get(), 3, {fifth.value, fifth.unique, "3", std::string(700, 'x')});
  Change(other.get(), 10, {model_[10].value, model_[10].unique, "10", std::string(12000, 'y')});
  model_[kRows + 1] = {2, 1'000'001, "new"};
  ASSERT_TRUE(EngineFixture::Insert(other.get(), table_.get(), kRows + 1, model_[kRows + 1]).ok());
  for (const uint64_t id : {11, 15}) {
    ASSERT_TRUE(EngineFixture::Delete(other.get(), table_.get(), id, model_[id]).ok());
    model_.erase(id);
  }
  ASSERT_TRUE(other->Commit().ok());
  other->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(EngineFixture::Delete(other.get(), table_.get(), 12, model_[12]).ok());
  ASSERT_TRUE(other->Rollback().ok());
  Finish();
  other.reset();
  Expect();
}

TEST_P(TableRebuildTest, WritersAtWorkAreFollowedRoundByRound) {
  Start();
  WriterAtWork writer(world_.engine.get(), table_.get(), &model_, kRows, 24);
  ASSERT_TRUE(rebuild_->Build().ok());
  writer.Join();
  Finish();
  Expect();
}

TEST_P(TableRebuildTest, DuplicatesAreNamed) {
  std::unique_ptr<Session> other = world_.engine->NewSession();
  const ToyRow twice{1, model_[20].unique, "twice"};
  for (const bool late : {true, false}) {
    Start();
    if (late) {
      ASSERT_TRUE(rebuild_->Build().ok());
      // As if the index were not there yet: the value of another row.
      const std::string key = ToyKey(kRows + 5);
      other->Begin(IsolationLevel::kRepeatableRead);
      ASSERT_TRUE(other->InsertRow(table_.get(), AsBytes(key), AsBytes(ToyEncode(twice))).ok());
      ASSERT_TRUE(other->Commit().ok());
    }
    const Status status = late ? rebuild_->Finish(0) : rebuild_->Build();
    ASSERT_TRUE(status.Is(Code::kDuplicate));
    EXPECT_EQ(status.detail(), 2u);
    ASSERT_TRUE(rebuild_->ReadDuplicate(2).ok());
    EXPECT_EQ(ToyDecode(static_cast<StoredRow*>(conversion_->record())->value).unique,
              twice.unique);
    rebuild_.reset();
    ASSERT_TRUE(session_->Rollback().ok());
  }
  other->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(other->DeleteRow(table_.get(), AsBytes(ToyKey(kRows + 5)), {}).ok());
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  Expect();
}

TEST_P(TableRebuildTest, ARowThatCannotBeConvertedEndsIt) {
  Start();
  ASSERT_TRUE(rebuild_->Build().ok());
  std::unique_ptr<Session> other = world_.engine->NewSession();
  other->Begin(IsolationLevel::kRepeatableRead);
  Change(other.get(), 4, {4, 4444, "late"});
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  conversion_->refuses = true;
  EXPECT_TRUE(rebuild_->Finish(0).Is(Code::kUnsupported));
  rebuild_.reset();
  ASSERT_TRUE(session_->Rollback().ok());
  Expect();
}

TEST_P(TableRebuildTest, ARollbackOrACrashAtAnyPointLeavesTheFormerTable) {
  const TableId former = table_->id();
  for (int turn = 0; turn < 2 * kPhases; ++turn) {
    const int phases = turn % kPhases;
    Start();
    Status status;
    if (phases > 0) status = rebuild_->Build();
    if (phases > 1 && status.ok()) status = rebuild_->Finish(0);
    ASSERT_TRUE(status.ok()) << status.message();
    if (turn < kPhases) {
      rebuild_.reset();
      ASSERT_TRUE(session_->Rollback().ok());
    } else {
      ASSERT_TRUE(world_.engine->FlushLog().ok());
      Reopen();
    }
    EXPECT_EQ(table_->id(), former);
    Expect();
  }
}

TEST_P(TableRebuildTest, APreparedOneIsWhatItsCoordinatorDecides) {
  for (const bool commit : {false, true}) {
    const TableId former = table_->id();
    Start();
    ASSERT_TRUE(rebuild_->Build().ok());
    ASSERT_TRUE(rebuild_->Finish(0).ok());
    const TableId made = rebuild_->table()->id();
    ASSERT_TRUE(session_->Prepare(AsBytes(std::string("rebuild"))).ok());
    const uint64_t number = session_->txn_number();
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    rebuild_.reset();
    table_.reset();
    session_.reset();
    world_.Crash(TestSeed());
    ASSERT_TRUE(world_.Open().ok());
    Engine* engine = world_.engine.get();
    const Engine::PreparedDdl ddl = engine->DdlOf("rebuild");
    EXPECT_EQ(ddl.txn_number, number);
    EXPECT_EQ(ddl.created, std::vector<TableId>{made});
    EXPECT_EQ(ddl.dropped, std::vector<TableId>{former});
    EXPECT_TRUE(ddl.altered.empty());
    EXPECT_TRUE(engine->DdlOf("another").created.empty());
    ASSERT_TRUE((commit ? engine->CommitPrepared("rebuild", Durability::kDurable)
                        : engine->RollbackPrepared("rebuild"))
                    .ok());
    while (engine->ListTables().size() != 1) std::this_thread::yield();
    EXPECT_EQ(engine->ListTables().front().id, commit ? made : former);
    table_ = engine->OpenTable(engine->ListTables().front().id).value();
  }
}

TEST_P(TableRebuildTest, AFullDiskEndsItAndNobodyElse) {
  for (const std::string scratch : {"sort_", "sort_changes_", "sort_waiting_"}) {
    Start();
    std::unique_ptr<Session> other = world_.engine->NewSession();
    other->Begin(IsolationLevel::kRepeatableRead);
    Status status;
    if (scratch != "sort_") status = rebuild_->Build();
    ASSERT_TRUE(status.ok());
    world_.files.Inject(
        {.call = FileCall::kWrite, .path_part = scratch, .lasting = true, .code = Code::kNoSpace});
    for (uint64_t id = 1; id <= kRows; ++id) {
      Change(other.get(), id, {3, static_cast<uint32_t>(id * 4 + 1), "changed"});
    }
    ASSERT_TRUE(other->Commit().ok());
    other.reset();
    status = scratch == "sort_" ? rebuild_->Build() : rebuild_->Finish(0);
    EXPECT_TRUE(status.Is(Code::kNoSpace)) << scratch << ": " << status.message();
    world_.files.ClearFaults();
    rebuild_.reset();
    ASSERT_TRUE(session_->Rollback().ok());
    Expect();
    other = world_.engine->NewSession();
    other->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t id = 1; id <= kRows; ++id) Change(other.get(), id, MakeRow(id));
    ASSERT_TRUE(other->Commit().ok());
  }
}

TEST_P(TableRebuildTest, AnInterruptedOneIsNotFinished) {
  Start();
  session_->Interrupt();
  EXPECT_TRUE(rebuild_->Build().Is(Code::kInterrupted));
  rebuild_.reset();
  ASSERT_TRUE(session_->Rollback().ok());
  Expect();
}

}  // namespace
}  // namespace rowan::table_rebuild_test
