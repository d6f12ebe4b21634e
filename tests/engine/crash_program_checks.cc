// SPDX-License-Identifier: GPL-2.0-only
// What CrashProgram checks at the end of a round.
#include <chrono>
#include <thread>

#include "tests/engine/crash_healing.h"
#include "tests/engine/crash_program.h"

namespace rowan {
namespace {

/// Looks at rollback, each half a millisecond: a minute, which no machine is too busy for.
constexpr int kRollbackLooksMax = 120'000;
/// A thread that met a fault which stops the engine has said so by then.
constexpr std::chrono::milliseconds kUntilItStops{50};

}  // namespace

CrashKind CrashProgram::Heal() {
  world_.files.ClearFaults();
  context_.Reset(may_stop_);
  std::this_thread::sleep_for(kUntilItStops);
  Status status;
  if (!world_.engine->stopped()) status = ResolvePrepared();
  if (status.ok()) status = AwaitHealed(world_.engine.get());
  if (world_.engine->stopped()) {
    EXPECT_TRUE(may_stop_) << "the engine stopped, though no call failed that stops it";
    temporary_.Close(&context_);
    world_.engine.reset();
    return CrashKind::kProcess;
  }
  context_.Reset(false);
  EXPECT_TRUE(status.ok()) << status.message();
  temporary_.ExpectRows();
  return CrashKind::kHealed;
}

void CrashProgram::WaitForRollback() {
  const auto unfinished = [this] {
    for (const TxnInfo& txn : world_.engine->Transactions()) {
      if (txn.recovered) return true;
    }
    return false;
  };
  for (int i = 0; i < kRollbackLooksMax && unfinished(); ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  EXPECT_FALSE(unfinished()) << "a loser was not rolled back";
}

void CrashProgram::WaitForPurge() {
  for (int i = 0; i < 20000 && world_.engine->Figures().purge.history_length != 0; ++i) {
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
}

void CrashProgram::CheckHoles() {
  WaitForPurge();
  world_.files.Inject({.call = FileCall::kPunch});
  MakeHoles().Ignore();  // housekeeping may have met the fault
  world_.files.ClearFaults();
  const Status holes = MakeHoles();
  EXPECT_TRUE(holes.ok()) << holes.message();
}

void CrashProgram::CheckBackups() {
  const std::string folder = world_.options.storage.folder;
  std::unique_ptr<Engine> original = std::move(world_.engine);
  for (const CrashBackups::Finished& backup : backups_.TakeFinished()) {
    SCOPED_TRACE("the copy in " + backup.chain.back());
    // What a crash brings back of one that was removed is not in the way.
    world_.options.storage.folder = "/restored_" + std::to_string(copies_made_++);
    RestoreChain(&world_.files, backup.chain, world_.options.storage.folder);
    if (::testing::Test::HasFailure()) break;
    CheckCopy(backup.end);
    RemoveFolder(&world_.files, world_.options.storage.folder);
    ++copies_checked_;
  }
  world_.options.storage.folder = folder;
  world_.engine = std::move(original);
}

void CrashProgram::CheckCopy(Lsn end) {
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(world_.engine->restored());
  // What was about to commit was not committed when the backup ended.
  for (const std::string& xid : world_.engine->PreparedXids()) {
    EXPECT_TRUE(world_.engine->RollbackPrepared(xid).ok()) << xid;
  }
  EXPECT_TRUE(world_.engine->EndRestore().ok());
  WaitForRollback();
  {
    Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
    ASSERT_TRUE(table.ok()) << table.status().message();
    const ToyRows all = world_.ReadAll(table->get());
    for (const CrashWorker& worker : workers_) worker.CheckCopy(all, end);
    world_.CheckTable(table->get(), all);
  }
  ddl_.CheckCopy(&world_, table_, end);
  const Status system = world_.engine->CheckSystem();
  EXPECT_TRUE(system.ok()) << system.message();
  EXPECT_TRUE(world_.Shutdown().ok());
}

void CrashProgram::Compare(CrashKind kind) {
  Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(table_);
  ASSERT_TRUE(table.ok()) << table.status().message();
  const ToyRows all = world_.ReadAll(table->get());
  for (CrashWorker& worker : workers_) worker.Settle(all, kind);
  for (uint32_t hot = 0; hot < kHotRows; ++hot) {
    const auto row = all.find(kHotRowFirst + hot);
    ASSERT_NE(row, all.end());
    for (const CrashWorker& worker : workers_) worker.CheckHot(hot, ParseHotRow(row->second));
  }
  world_.CheckTable(table->get(), all);
  ddl_.Settle(&world_, table_, kind);
  if (settings_.huge_undo) CheckHoles();
  const Status system = world_.engine->CheckSystem();
  EXPECT_TRUE(system.ok()) << system.message();
}

}  // namespace rowan
