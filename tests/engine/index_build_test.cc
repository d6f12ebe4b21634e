// SPDX-License-Identifier: GPL-2.0-only
// Indexes that come and go while a table is in use: what they hold, that nothing stays of one whose
// transaction does not commit, and what a start finds of an ALTER that a crash has cut.
#include "engine/build/index_build.h"

#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/await_purge.h"
#include "tests/engine/built_indexes.h"
#include "tests/engine/changing_rows.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/toy_index_codec.h"

namespace rowan::index_build_test {
namespace {

constexpr uint64_t kRows = 600;
constexpr size_t kLeastSortBytes = 1;
constexpr int kPhases = 4;

ToyRow MakeRow(uint64_t id) {
  return {static_cast<uint32_t>(id % 37), static_cast<uint32_t>(id * 4), std::string(id % 90, 't')};
}

class IndexBuildTest : public ::testing::Test {
 protected:
  IndexBuildTest() : world_(TestSeed()) {
    EXPECT_TRUE(world_.Open().ok());
    table_ = world_.CreateTable("test/build");
    model_ = world_.Fill(table_.get(), kRows, MakeRow);
    Begin();
  }

  void Begin() {
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
  }
  /// Both secondary indexes again, built from the rows.
  void Start() {
    const IndexBuild::Rows rows{&codec_, nullptr, &record_};
    build_ = std::make_unique<IndexBuild>(session_.get(), table_, rows, limits_);
    ASSERT_TRUE(build_->Start({{.index_number = 1}, {.index_number = 2}}).ok());
  }
  Status Alter() {
    Result<std::shared_ptr<Table>> altered =
        world_.engine->AlterTable(session_.get(), WithBuiltIndexes(*table_, *build_));
    if (altered.ok()) table_ = *altered;
    return altered.status();
  }
  /// As an ALTER that does not get further than this.
  Status AlterUpTo(int phases) {
    Begin();
    Start();
    Status status;
    if (phases > 1) status = build_->Build();
    if (phases > 2 && status.ok()) status = build_->Finish();
    if (phases > 3 && status.ok()) status = Alter();
    return status;
  }
  void Finish() {
    ASSERT_TRUE(build_->Finish().ok());
    ASSERT_TRUE(Alter().ok());
    build_.reset();
  }
  void Commit() {
    ASSERT_TRUE(session_->Commit().ok());
    session_->FinishDdl();
  }
  /// The table as it is opened now.
  void Expect() {
    const TableId id = table_->id();
    table_.reset();
    build_.reset();
    AwaitPurge(*world_.engine);
    world_.ExpectTable(id, model_);
    table_ = world_.engine->OpenTable(id).value();
  }
  void Reopen() {
    const TableId id = table_->id();
    build_.reset();
    table_.reset();
    session_.reset();
    world_.Crash(TestSeed());
    ASSERT_TRUE(world_.Open().ok());
    table_ = world_.engine->OpenTable(id).value();
  }
  void Change(Session* session, uint64_t id, const ToyRow& row) {
    ChangeRow(session, table_.get(), &model_, id, row);
  }

  EngineFixture world_;
  BuildLimits limits_{kLeastSortBytes};
  ToyIndexCodec codec_;
  StoredRow record_;
  std::shared_ptr<Table> table_;
  ToyRows model_;
  std::unique_ptr<Session> session_;
  std::unique_ptr<IndexBuild> build_;
};

TEST_F(IndexBuildTest, ReplacesTheIndexesItIsToldTo) {
  const IndexId old = table_->index(1)->id();
  Start();
  ASSERT_TRUE(build_->Build().ok());
  Finish();
  Commit();
  EXPECT_NE(table_->index(1)->id(), old);
  Expect();  // finds pages of the old ones, too, should they still be in use
  Reopen();
  Expect();
}

/// Writers go on, the build fails, and nothing of it stays.
TEST_F(IndexBuildTest, FailsWhenMoreIsChangedThanMayBeNoted) {
  limits_.changes_bytes_max = 2000;
  std::unique_ptr<Session> other = world_.engine->NewSession();
  for (const bool in_last_round : {false, true}) {
    Start();
    if (in_last_round) {
      ASSERT_TRUE(build_->Build().ok());
    }
    for (uint64_t id = 1; id <= kRows / 2; ++id) {
      other->Begin(IsolationLevel::kRepeatableRead);
      Change(other.get(), id, {1, model_[id].unique + 1'000'000, "changed"});
      ASSERT_TRUE(other->Commit().ok());
    }
    const Status status = in_last_round ? build_->Finish() : build_->Build();
    EXPECT_TRUE(status.Is(Code::kTooBig)) << status.message();
    EXPECT_STREQ(status.message(), kTooManyChanges);
    build_.reset();
    ASSERT_TRUE(session_->Rollback().ok());
    session_->FinishDdl();
    Begin();
  }
  for (const std::string& name : world_.files.List(world_.options.storage.folder).value()) {
    EXPECT_FALSE(name.starts_with("rowan.sort_")) << name;
  }
  session_.reset();
  other.reset();
  Expect();
}

TEST_F(IndexBuildTest, RowsThatAreChangedMeanwhileAreFollowed) {
  std::unique_ptr<Session> other = world_.engine->NewSession();
  Start();
  other->Begin(IsolationLevel::kRepeatableRead);
  Change(other.get(), 7, {50, 1'000'007, "before the scan"});
  ASSERT_TRUE(build_->Build().ok());
  // Two rows change places in the unique index, one comes, one goes.
  const ToyRow third = model_[3];
  const ToyRow fifth = model_[5];
  Change(other.get(), 3, {1, 1'000'003, "away"});
  Change(other.get(), 5, third);
  Change(other.get(), 3, fifth);
  model_[kRows + 1] = {2, 1'000'001, "new"};
  ASSERT_TRUE(EngineFixture::Insert(other.get(), table_.get(), kRows + 1, model_[kRows + 1]).ok());
  ASSERT_TRUE(EngineFixture::Delete(other.get(), table_.get(), 11, model_[11]).ok());
  model_.erase(11);
  ASSERT_TRUE(other->Commit().ok());
  other->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(EngineFixture::Delete(other.get(), table_.get(), 12, model_[12]).ok());
  ASSERT_TRUE(other->Rollback().ok());
  Finish();
  Commit();
  other.reset();
  Expect();
}

TEST_F(IndexBuildTest, ATransactionThatOutlastsARoundIsNotForgotten) {
  std::unique_ptr<Session> slow = world_.engine->NewSession();
  std::unique_ptr<Session> other = world_.engine->NewSession();
  Start();
  slow->Begin(IsolationLevel::kRepeatableRead);
  Change(slow.get(), 3, {60, 2'000'001, "slow"});
  // Enough for a round among writers.
  for (uint32_t turn = 1; turn <= 3; ++turn) {
    other->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t id = 10; id <= kRows; ++id) {
      Change(other.get(), id, {turn, static_cast<uint32_t>(id * 4 + turn), "o"});
    }
    ASSERT_TRUE(other->Commit().ok());
  }
  ASSERT_TRUE(build_->Build().ok());
  ASSERT_TRUE(slow->Commit().ok());
  Finish();
  Commit();
  slow.reset();
  other.reset();
  Expect();
}

TEST_F(IndexBuildTest, WritersAtWorkAreFollowedRoundByRound) {
  Start();
  WriterAtWork writer(world_.engine.get(), table_.get(), &model_, kRows, 40);
  ASSERT_TRUE(build_->Build().ok());
  writer.Join();
  Finish();
  Commit();
  Expect();
}

TEST_F(IndexBuildTest, DuplicatesOfTheSnapshotAndOfLaterOnesAreNamed) {
  std::unique_ptr<Session> other = world_.engine->NewSession();
  Start();
  ASSERT_TRUE(build_->Build().ok());
  other->Begin(IsolationLevel::kRepeatableRead);
  // As if the index were not there yet: the value of another row.
  const ToyRow twice{1, model_[20].unique, "twice"};
  const std::string key = ToyKey(kRows + 5);
  ASSERT_TRUE(other->InsertRow(table_.get(), AsBytes(key), AsBytes(ToyEncode(twice))).ok());
  ASSERT_TRUE(other->Commit().ok());
  Status status = build_->Finish();
  ASSERT_TRUE(status.Is(Code::kDuplicate));
  EXPECT_EQ(status.detail(), 2u);
  ASSERT_TRUE(build_->ReadDuplicate(2).ok());
  EXPECT_EQ(ToyDecode(record_.value).unique, twice.unique);
  build_.reset();
  ASSERT_TRUE(session_->Rollback().ok());

  Begin();
  Start();
  status = build_->Build();
  ASSERT_TRUE(status.Is(Code::kDuplicate));
  ASSERT_TRUE(build_->ReadDuplicate(2).ok());
  build_.reset();
  ASSERT_TRUE(session_->Rollback().ok());
  other->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(other->DeleteRow(table_.get(), AsBytes(key), {}).ok());
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  Expect();  // no page is left of either build
}

TEST_F(IndexBuildTest, ARollbackAtAnyPointLeavesTheTableAsItWas) {
  const IndexId old = table_->index(1)->id();
  for (int phases = 1; phases <= kPhases; ++phases) {
    ASSERT_TRUE(AlterUpTo(phases).ok());
    build_.reset();
    const TableId id = table_->id();
    table_.reset();
    ASSERT_TRUE(session_->Rollback().ok());
    table_ = world_.engine->OpenTable(id).value();
    Expect();
    EXPECT_EQ(table_->index(1)->id(), old);
  }
}

TEST_F(IndexBuildTest, ACrashAtAnyPointLeavesTheTableAsItWas) {
  const IndexId old = table_->index(1)->id();
  for (int phases = 1; phases <= kPhases; ++phases) {
    ASSERT_TRUE(AlterUpTo(phases).ok());
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    Reopen();
    EXPECT_EQ(table_->index(1)->id(), old) << "served before it is rolled back";
    while (!world_.engine->Transactions().empty()) std::this_thread::yield();
    Expect();
    EXPECT_EQ(table_->index(1)->id(), old);
  }
}

TEST_F(IndexBuildTest, APreparedAlterIsWhatItsCoordinatorDecides) {
  for (const bool commit : {false, true}) {
    const IndexId old = table_->index(1)->id();
    Begin();
    Start();
    ASSERT_TRUE(build_->Build().ok());
    Finish();
    const IndexId built = table_->index(1)->id();
    ASSERT_TRUE(session_->Prepare(AsBytes(std::string("alter"))).ok());
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    Reopen();
    EXPECT_EQ(table_->index(1)->id(), old);
    EXPECT_EQ(world_.engine->DdlOf("alter").altered, std::vector<TableId>{table_->id()});
    table_.reset();
    Engine* engine = world_.engine.get();
    ASSERT_TRUE((commit ? engine->CommitPrepared("alter", Durability::kDurable)
                        : engine->RollbackPrepared("alter"))
                    .ok());
    table_ = engine->OpenTable(engine->ListTables().front().id).value();
    EXPECT_EQ(table_->index(1)->id(), commit ? built : old);
    Expect();
  }
}

TEST_F(IndexBuildTest, AnOlderSnapshotIsKeptFromTheNewIndexAlone) {
  std::unique_ptr<Session> old = world_.engine->NewSession();
  old->Begin(IsolationLevel::kRepeatableRead);
  old->OpenSnapshot();
  Start();
  ASSERT_TRUE(build_->Build().ok());
  Finish();
  Commit();
  EXPECT_TRUE(old->OpenSnapshotFor(*table_, 0).ok());
  EXPECT_TRUE(old->OpenSnapshotFor(*table_, 1).Is(Code::kTableChanged));
  ASSERT_TRUE(old->Commit().ok());
  old->Begin(IsolationLevel::kRepeatableRead);
  EXPECT_TRUE(old->OpenSnapshotFor(*table_, 1).ok());
}

TEST_F(IndexBuildTest, ADefinitionMayGrowAndShrinkByRowsOfTheCatalog) {
  const std::string small = table_->definition().descriptor;
  for (const size_t bytes : {size_t{60'000}, size_t{3}, size_t{30'000}}) {
    for (const bool commit : {false, true}) {
      Begin();
      TableDef changed = table_->definition();
      changed.descriptor = std::string(bytes, 'd');
      Result<std::shared_ptr<Table>> altered = world_.engine->AlterTable(session_.get(), changed);
      ASSERT_TRUE(altered.ok());
      if (commit) {
        ASSERT_TRUE(session_->Commit().ok());
      } else {
        ASSERT_TRUE(world_.engine->FlushLog().ok());
      }
      const std::string expected = commit ? changed.descriptor : table_->definition().descriptor;
      altered = Result<std::shared_ptr<Table>>(std::shared_ptr<Table>());
      Reopen();
      EXPECT_EQ(table_->definition().descriptor, expected);
      while (!world_.engine->Transactions().empty()) std::this_thread::yield();
    }
  }
  Expect();
}

}  // namespace
}  // namespace rowan::index_build_test
