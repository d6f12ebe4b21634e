// SPDX-License-Identifier: GPL-2.0-only
// The walk goes on: long work of background threads ends soon when the engine is closed or the sign
// of a shutdown is given, and goes on at the next start; and that of temporary tables.
#include "base/work_budget.h"
#include "tests/engine/interruption_fixture.h"

namespace rowan {
namespace {

class InterruptedBackgroundTest : public InterruptionTest {
 protected:
  /// Purge by this thread, until the flag is raised in call number five.
  void PurgeUntilStopped(const char* what) {
    std::atomic<bool> stop{false};
    WorkBudget budget(UINT64_MAX, &stop);
    const auto purge = [&] {
      txns()->RefreshHorizon();
      return txns()->PurgeSome(0, 1, &budget);
    };
    const Result<bool> more = Interrupted(what, kCallsMaxAtOnce, purge, [&] { stop.store(true); });
    EXPECT_TRUE(more.ok()) << more.status().message();
    EXPECT_NE(txns()->HistoryLength(), 0u) << what << " was through";
    WorkBudget all(UINT64_MAX);
    while (txns()->HistoryLength() != 0) {
      txns()->RefreshHorizon();
      ASSERT_TRUE(txns()->PurgeSome(0, 1, &all).ok());
    }
  }
  /// The same of rollback, which goes on at the next start.
  void RollBackUntilStopped(const char* what) {
    std::atomic<bool> stop{false};
    WorkBudget budget(UINT64_MAX, &stop);
    const auto roll_back = [&] { return txns()->RollbackSome(&budget); };
    const Result<bool> more =
        Interrupted(what, kCallsMaxAtOnce, roll_back, [&] { stop.store(true); });
    EXPECT_TRUE(more.ok()) << more.status().message();
    EXPECT_EQ(txns()->LoserCount(), 1u) << what << " was through";
    world_.options.rolls_back = true;
    ASSERT_NO_FATAL_FAILURE(Restart());
  }
  /// Redo is through, and this thread rolls back.
  void OpenWithLoser() {
    world_.options.rolls_back = false;
    ASSERT_TRUE(world_.Open().ok());
    ASSERT_TRUE(Await([&] { return !world_.engine->redoing(); }));
  }
  /// As after a power cut, with what `session_` did unfinished.
  void CrashWithLoser() {
    ASSERT_TRUE(world_.engine->FlushLog().ok());
    world_.engine->impl()->storage->Stop();
    build_.reset();
    table_.reset();
    world_.files.PowerOffAfter(0);
    session_.reset();
    world_.Crash(TestSeed());
  }
};

TEST_F(InterruptedBackgroundTest, PurgeOfDeletedRows) {
  world_.options.purges = false;
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  for (const auto& [id, row] : model_) {
    ASSERT_TRUE(EngineFixture::Delete(session_.get(), table_.get(), id, row).ok());
  }
  ASSERT_TRUE(session_->Commit().ok());
  ASSERT_NO_FATAL_FAILURE(PurgeUntilStopped("purge of deleted rows"));
  ExpectDone({});
}

TEST_F(InterruptedBackgroundTest, PurgeOfALargeValue) {
  world_.options.purges = false;
  ASSERT_NO_FATAL_FAILURE(Start());
  ToyRow row = MakeRow(1);
  row.blob.assign(kValueBytes, 'v');
  ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), 1, row).ok());
  ASSERT_TRUE(session_->Commit().ok());
  Begin();
  ASSERT_TRUE(EngineFixture::Delete(session_.get(), table_.get(), 1, row).ok());
  ASSERT_TRUE(session_->Commit().ok());
  ASSERT_NO_FATAL_FAILURE(PurgeUntilStopped("purge of a large value"));
  ExpectDone({});
}

TEST_F(InterruptedBackgroundTest, RollbackOfALosersLargeValue) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(WriteValue(session_.get(), table_.get()));
  ASSERT_NO_FATAL_FAILURE(CrashWithLoser());
  ASSERT_NO_FATAL_FAILURE(OpenWithLoser());
  RollBackUntilStopped("background rollback of a large value");
  ExpectDone({});
}

TEST_F(InterruptedBackgroundTest, WhoWaitsForARowOfAKilledTransactionWaitsOn) {
  world_.options.rolls_back = false;
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  for (const auto& [id, row] : model_) {
    ASSERT_TRUE(EngineFixture::Delete(session_.get(), table_.get(), id, row).ok());
  }
  const auto& [first, row] = *model_.begin();
  std::unique_ptr<Session> other = world_.engine->NewSession();
  other->Begin(IsolationLevel::kReadCommitted);
  std::atomic<bool> through{false};
  std::jthread waiter([&] {
    const Status status = EngineFixture::Delete(other.get(), table_.get(), first, row);
    EXPECT_TRUE(status.ok()) << status.message();
    through = true;
  });
  ASSERT_TRUE(Await([&] { return txns()->locks()->DescribeWaits(9).size() == 1; }));
  session_->Interrupt(Interruption::kSession);
  ASSERT_TRUE(session_->Rollback().ok());
  ASSERT_EQ(txns()->LoserCount(), 1u);
  EXPECT_EQ(txns()->locks()->DescribeWaits(9).size(), 1u);
  EXPECT_FALSE(through);
  WorkBudget all(UINT64_MAX);
  while (txns()->LoserCount() != 0) ASSERT_TRUE(txns()->RollbackSome(&all).ok());
  waiter.join();
  ASSERT_TRUE(other->Commit().ok());
  other.reset();
  model_.erase(model_.begin());
  ExpectDone(model_);
}

TEST_F(InterruptedBackgroundTest, UndoOfALosersIndexBuild) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_TRUE(build_->Build().ok());
  ASSERT_NO_FATAL_FAILURE(CrashWithLoser());
  ASSERT_NO_FATAL_FAILURE(OpenWithLoser());
  RollBackUntilStopped("background undo of CREATE INDEX");
  ExpectDone(model_);
}

TEST_F(InterruptedBackgroundTest, JudgingAFileThatNobodyOwns) {
  world_.options.storage.background = false;  // pages stay dirty
  world_.options.storage.buffer.pool_bytes = 4096 * 4096;
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  std::unique_ptr<File> orphan =
      world_.files.Open("/rowan/space_901.rws", {.create = true}).value();
  ASSERT_TRUE(orphan->Truncate(2 * 4096).ok());
  orphan.reset();
  ASSERT_NO_FATAL_FAILURE(Restart());
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id_);
  ASSERT_TRUE(table.ok());
  Begin();
  for (const auto& [id, row] : model_) {
    ToyRow changed = row;
    changed.text[0] = '!';
    ASSERT_TRUE(EngineFixture::Update(session_.get(), table->get(), id, row, changed).ok());
    model_[id] = changed;
  }
  ASSERT_TRUE(session_->Commit().ok());
  EXPECT_TRUE(ShutDown("judging a file that nobody owns", kCallsMax, [&] {
                return world_.engine->RemoveOrphanFiles();
              }).Is(Code::kInterrupted));
  EXPECT_TRUE(world_.engine->orphans_pending());
  shutting_down = false;
  EXPECT_TRUE(world_.engine->RemoveOrphanFiles().ok());
  EXPECT_FALSE(world_.engine->orphans_pending());
}

TEST_F(InterruptedBackgroundTest, TemporaryTables) {
  ASSERT_NO_FATAL_FAILURE(Start());
  Result<std::shared_ptr<Table>> scratch =
      world_.engine->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1);
  ASSERT_TRUE(scratch.ok());
  const auto enter = [&] { return session_->Temporary().value(); };
  ASSERT_NO_FATAL_FAILURE(Insert(enter(), scratch->get()));
  EXPECT_TRUE(Killed("ROLLBACK of a temporary table, killed", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  session_->Begin();
  ASSERT_TRUE(Await([&] { return session_->Temporary().ok(); })) << "its rollback does not end";
  ASSERT_NO_FATAL_FAILURE(Insert(enter(), scratch->get()));
  ASSERT_TRUE(session_->Commit().ok());
  session_->Begin();
  for (uint64_t id = 1; id <= kRows; ++id) {
    const uint64_t scattered = id * 7919 % 100'003;
    ASSERT_TRUE(EngineFixture::Delete(enter(), scratch->get(), scattered, MakeRow(scattered)).ok());
  }
  EXPECT_TRUE(Killed("COMMIT and purge of a temporary table", kCallsMax, [&] {
                return session_->Commit();
              }).ok());
  const TableId id = (*scratch)->id();
  scratch->reset();
  EXPECT_TRUE(world_.engine->DropTemporaryTable(id).ok());
}

}  // namespace
}  // namespace rowan
