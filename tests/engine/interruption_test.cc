// SPDX-License-Identifier: GPL-2.0-only
// The walk over all long work of sessions: a kill, or the sign of a shutdown, ends each within a
// bounded number of calls, and what is left is done later.
#include "engine/bulk_load.h"
#include "storage/backup.h"
#include "tests/engine/interruption_fixture.h"

namespace rowan {
namespace {

// --- rollback ---

TEST_F(InterruptionTest, RollbackOfManyRowsByAKill) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  const LogCapture log;
  EXPECT_TRUE(Killed("ROLLBACK of many rows, killed", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  EXPECT_TRUE(log.Has(kUndoGoesOn)) << log.Text();
  ExpectDone({});
}

TEST_F(InterruptionTest, RollbackOfManyRowsByAShutdown) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  EXPECT_TRUE(ShutDown("ROLLBACK of many rows, shutdown", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  EXPECT_EQ(txns()->LoserCount(), 0u) << "the process began what it cannot end";
  ASSERT_NO_FATAL_FAILURE(Restart());
  ExpectDone({});
}

TEST_F(InterruptionTest, RollbackOfALargeValue) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(WriteValue(session_.get(), table_.get()));
  const LogCapture log;
  EXPECT_TRUE(Killed("ROLLBACK of one large value, killed", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  EXPECT_TRUE(log.Has(kUndoGoesOn)) << log.Text();
  ExpectDone({});
}

TEST_F(InterruptionTest, RollbackOfALargeValueByAShutdown) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(WriteValue(session_.get(), table_.get()));
  EXPECT_TRUE(ShutDown("ROLLBACK of one large value, shutdown", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  ASSERT_NO_FATAL_FAILURE(Restart());
  ExpectDone({});
}

TEST_F(InterruptionTest, RollbackToASavepoint) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), 200'000, MakeRow(1)).ok());
  const UndoPosition before = session_->Savepoint();
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  EXPECT_TRUE(Killed("ROLLBACK TO SAVEPOINT, killed", kCallsMax, [&] {
                return session_->RollbackTo(before);
              }).Is(Code::kInterrupted));
  EXPECT_TRUE(session_->Commit().Is(Code::kInterrupted)) << "half of it would stay";
  EXPECT_TRUE(session_->Rollback().ok());
  ExpectDone({});
}

TEST_F(InterruptionTest, TheKillThatEndsAStatementLeavesItsRollbackWhole) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), 200'000, MakeRow(1)).ok());
  session_->StartStatement();
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  session_->Interrupt();
  EXPECT_TRUE(session_->EndStatement(StatementEnd::kUndo).ok());
  EXPECT_TRUE(session_->Commit().ok());
  ExpectDone({{200'000, MakeRow(1)}});
}

TEST_F(InterruptionTest, AKillDuringAStatementsRollbackEndsIt) {
  ASSERT_NO_FATAL_FAILURE(Start());
  session_->StartStatement();
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  session_->Interrupt();
  const auto undo = [&] { return session_->EndStatement(StatementEnd::kUndo); };
  EXPECT_TRUE(Interrupted("a statement's rollback, killed again", kCallsMax, undo, [this] {
                session_->Interrupt();
              }).Is(Code::kInterrupted));
  EXPECT_TRUE(session_->Rollback().ok());
  ExpectDone({});
}

TEST_F(InterruptionTest, WhatIsShortIsRolledBackAllTheSame) {
  ASSERT_NO_FATAL_FAILURE(Start());
  for (uint64_t id = 1; id <= 20; ++id) {
    ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), id, MakeRow(id)).ok());
  }
  session_->Interrupt(Interruption::kSession);
  const LogCapture log;
  EXPECT_TRUE(session_->Rollback().ok());
  EXPECT_FALSE(log.Has(kUndoGoesOn)) << log.Text();
  ExpectDone({});
}

TEST_F(InterruptionTest, APreparedTransactionIsNotKilledWithItsSession) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ASSERT_NO_FATAL_FAILURE(Insert(session_.get(), table_.get()));
  ASSERT_TRUE(session_->Prepare(AsBytes(std::string("x"))).ok());
  session_->Interrupt(Interruption::kSession);
  session_.reset();
  const LogCapture log;
  EXPECT_TRUE(world_.engine->RollbackPrepared("x").ok());
  EXPECT_FALSE(log.Has(kUndoGoesOn)) << log.Text();
  ExpectDone({});
}

// --- indexes ---

TEST_F(InterruptionTest, UndoOfAnIndexBuild) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_TRUE(build_->Build().ok());
  build_.reset();
  const LogCapture log;
  EXPECT_TRUE(
      Killed("undo of CREATE INDEX, killed", kCallsMax, [&] { return session_->Rollback(); }).ok());
  EXPECT_TRUE(log.Has(kUndoGoesOn)) << log.Text();
  ExpectDone(model_);
}

TEST_F(InterruptionTest, UndoOfAnIndexBuildByAShutdown) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_TRUE(build_->Build().ok());
  build_.reset();
  const LogCapture log;
  EXPECT_TRUE(ShutDown("undo of CREATE INDEX, shutdown", kCallsMax, [&] {
                return session_->Rollback();
              }).ok());
  EXPECT_TRUE(log.Has("goes on after the next start")) << log.Text();
  ASSERT_NO_FATAL_FAILURE(Restart());
  ExpectDone(model_);
}

TEST_F(InterruptionTest, UndoOfAnIndexBuildByTheKillThatEndsIt) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  session_->StartStatement();
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_TRUE(build_->Build().ok());
  build_.reset();
  session_->Interrupt();
  const uint64_t before = world_.files.Calls(FileCall::kRead);
  EXPECT_TRUE(session_->EndStatement(StatementEnd::kGiveUp).Is(Code::kInterrupted));
  EXPECT_TRUE(session_->Rollback().ok());
  EXPECT_LE(world_.files.Calls(FileCall::kRead) - before, kCallsMax);
  ExpectDone(model_);
}

TEST_F(InterruptionTest, CreateIndex) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  EXPECT_TRUE(Killed("CREATE INDEX, reading rows", kCallsMaxAtOnce, [&] {
                return build_->Build();
              }).Is(Code::kInterrupted));
  build_.reset();
  EXPECT_TRUE(session_->Rollback().ok());
  ExpectDone(model_);
}

TEST_F(InterruptionTest, CreateIndexWhileItsTreeIsBuilt) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  const auto kill = [this] { session_->Interrupt(Interruption::kSession); };
  TreeBegins progress;
  session_->ReportProgress(&progress);
  EXPECT_TRUE(Interrupted(
                  "CREATE INDEX, building the tree", kCallsMaxAtOnce * 2,
                  [&] { return build_->Build(); }, kill, &progress.begun)
                  .Is(Code::kInterrupted));
  build_.reset();
  EXPECT_TRUE(session_->Rollback().ok());
  ExpectDone(model_);
}

TEST_F(InterruptionTest, DropIndexLeavesTheRestToPurge) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_NO_FATAL_FAILURE(CommitBuild());
  session_->FinishDdl();
  AwaitPurge(*world_.engine);
  // Keeps purge away.
  const std::unique_ptr<Session> reader = world_.engine->NewSession();
  reader->Begin(IsolationLevel::kRepeatableRead);
  reader->OpenSnapshot();
  Begin();
  ASSERT_NO_FATAL_FAILURE(StartBuild());
  ASSERT_NO_FATAL_FAILURE(CommitBuild());
  const uint32_t before = UsedPages();
  session_->Interrupt(Interruption::kSession);
  session_->FinishDdl();  // reads little, so pages are counted
  const uint32_t after = UsedPages();
  EXPECT_LE(before - after, kCallsMax);
  EXPECT_GT(before - after, 0u);
  std::printf("     %-44s %4u pages freed\n", "DROP INDEX, killed", before - after);
  ASSERT_TRUE(reader->Commit().ok());
  const uint32_t left = after - static_cast<uint32_t>(kRows) / 4;
  ASSERT_TRUE(Await([&] { return UsedPages() < left; })) << "purge does not go on";
  ExpectDone(model_);
}

// --- reads, checks, backups ---

TEST_F(InterruptionTest, CheckTable) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  const auto killed = [this] { return session_->interrupted(); };
  EXPECT_TRUE(Killed("CHECK TABLE, an index", kCallsMaxAtOnce, [&] {
                return world_.engine->CheckIndex(table_.get(), 0, {}, killed);
              }).Is(Code::kInterrupted));
  session_->ClearInterrupt();
  EXPECT_TRUE(Killed("CHECK TABLE, the file", kCallsMaxAtOnce, [&] {
                return world_.engine->CheckSpace(table_.get(), FindToyBlobs, killed);
              }).Is(Code::kInterrupted));
  ExpectDone(model_);
}

TEST_F(InterruptionTest, CheckTableOfALargeValue) {
  ASSERT_NO_FATAL_FAILURE(Start());
  ToyRow row = MakeRow(1);
  row.blob.assign(kValueBytes, 'v');
  ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), 1, row).ok());
  ASSERT_TRUE(session_->Commit().ok());
  const auto killed = [this] { return session_->interrupted(); };
  EXPECT_TRUE(Killed("CHECK TABLE, a large value", kCallsMaxAtOnce, [&] {
                return world_.engine->CheckSpace(table_.get(), FindToyBlobs, killed);
              }).Is(Code::kInterrupted));
}

TEST_F(InterruptionTest, ALargeValue) {
  ASSERT_NO_FATAL_FAILURE(Start());
  const std::string value(kValueBytes, 'v');
  EXPECT_TRUE(Killed("writing a large value", kCallsMaxAtOnce, [&] {
                return session_->WriteBlob(table_.get(), AsBytes(value)).status();
              }).Is(Code::kInterrupted));
  session_->ClearInterrupt();
  Result<BlobRef> written = session_->WriteBlob(table_.get(), AsBytes(value));
  ASSERT_TRUE(written.ok());
  std::string read(kValueBytes, ' ');
  EXPECT_TRUE(Killed("reading a large value", kCallsMaxAtOnce, [&] {
                return session_->ReadBlob(*written, std::as_writable_bytes(std::span(read)));
              }).Is(Code::kInterrupted));
  session_->ClearInterrupt();
  EXPECT_TRUE(session_->Rollback().ok());
  ExpectDone({});
}

TEST_F(InterruptionTest, AScanThatDeliversNothing) {
  world_.options.purges = false;
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  for (const auto& [id, row] : model_) {
    ASSERT_TRUE(EngineFixture::Delete(session_.get(), table_.get(), id, row).ok());
  }
  ASSERT_TRUE(session_->Commit().ok());
  Begin();
  TableCursor cursor(session_.get(), table_.get(), &ToyCodec());
  cursor.OpenScan(0);
  StoredRow stored;
  EXPECT_TRUE(Killed("a scan of deleted rows", kCallsMaxAtOnce, [&] {
                return cursor.SeekFirst(&stored);
              }).Is(Code::kInterrupted));
  cursor.CloseScan();
}

TEST_F(InterruptionTest, ABackup) {
  ASSERT_NO_FATAL_FAILURE(StartFilled());
  ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
  const auto killed = [this] { return session_->interrupted(); };
  const auto begin = [&](const char* folder) {
    return std::move(world_.engine->BeginBackup({.folder = folder})).value();
  };
  std::unique_ptr<Backup> backup = begin("/first");
  EXPECT_TRUE(Killed("backup, copying", kCallsMaxAtOnce, [&] {
                return backup->CopyPages(killed);
              }).Is(Code::kInterrupted));
  session_->ClearInterrupt();
  backup = begin("/second");
  EXPECT_TRUE(Killed("ROWAN_BACKUP_END, copying", kCallsMaxAtOnce, [&] {
                return backup->Finish(kNoLsn, killed);
              }).Is(Code::kInterrupted));
  session_->ClearInterrupt();
  backup = begin("/third");
  ASSERT_TRUE(backup->CopyPages([] { return false; }).ok());
  model_ = world_.Fill(table_.get(), 0, MakeRow);
  session_->Interrupt();
  EXPECT_TRUE(backup->Finish(world_.engine->Figures().log_tail, killed).Is(Code::kInterrupted));
}

}  // namespace
}  // namespace rowan
