// SPDX-License-Identifier: GPL-2.0-only
// What levels 2 and 3 of rowan_force_recovery leave undone, and that the next start does it
// (docs/force_recovery.md).
#include <gtest/gtest.h>

#include "tests/engine/await_purge.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"

namespace rowan::forced_levels_test {
namespace {

constexpr uint64_t kRows = 60;
constexpr uint64_t kLoserId = 1000;

class ForcedLevelsTest : public ::testing::Test {
 protected:
  /// A run with deleted rows that were not purged, and a transaction that was not finished.
  void SetUp() override {
    world_.options.purges = false;
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> table = world_.CreateTable("test/forced");
    id_ = table->id();
    rows_ = world_.Fill(table.get(), kRows, [](uint64_t id) {
      return ToyRow{static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id), "text"};
    });
    std::unique_ptr<Session> session = Begin();
    for (uint64_t id = 1; id <= kRows; id += 2) {
      ASSERT_TRUE(EngineFixture::Delete(session.get(), table.get(), id, rows_.at(id)).ok());
      rows_.erase(id);
    }
    ASSERT_TRUE(session->Commit().ok());
    {
      std::unique_ptr<Session> loser = Begin();
      ASSERT_TRUE(EngineFixture::Insert(loser.get(), table.get(), kLoserId,
                                        {1, static_cast<uint32_t>(kLoserId), "loser"})
                      .ok());
      ASSERT_TRUE(EngineFixture::Update(loser.get(), table.get(), 2, rows_.at(2),
                                        {5, 2, "changed by the loser"})
                      .ok());
      ASSERT_TRUE(world_.engine->FlushLog().ok());
      world_.files.PowerOffAfter(0);  // its session cannot roll it back
    }
    session.reset();
  }
  void Kill() {
    world_.engine.reset();
    world_.files.Crash({.keep = CrashPlan::Keep::kEverything}, ++crashes_);
  }
  void Start(bool purges, bool rolls_back) {
    Kill();
    world_.options.purges = purges;
    world_.options.rolls_back = rolls_back;
    ASSERT_TRUE(world_.Open().ok());
    ASSERT_TRUE(world_.engine->RemoveOrphanFiles().ok());
    ASSERT_TRUE(Await([&] { return !world_.engine->redoing(); }));
  }
  std::unique_ptr<Session> Begin() {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    session->SetLockWait({.timeout_s = 0});
    return session;
  }
  Status Lock(uint64_t id) {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    std::unique_ptr<Session> session = Begin();
    ToyRow row;
    const Status status = EngineFixture::ReadForUpdate(session.get(), table.get(), id, &row);
    EXPECT_TRUE(session->Rollback().ok());
    return status;
  }
  void InsertAndCommit(uint64_t id) {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    std::unique_ptr<Session> session = Begin();
    rows_[id] = {3, static_cast<uint32_t>(id), "saved"};
    ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), id, rows_[id]).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
  void ExpectAllDone() {
    EXPECT_TRUE(Await([&] { return world_.engine->Transactions().empty(); }));
    AwaitPurge(*world_.engine);
    EXPECT_TRUE(Lock(2).ok());
    world_.ExpectTable(id_, rows_);
    EXPECT_TRUE(world_.engine->CheckSystem().ok());
  }

  EngineFixture world_{TestSeed()};
  TableId id_;
  ToyRows rows_;
  uint64_t crashes_ = 0;
};

TEST_F(ForcedLevelsTest, WithoutPurgeLosersAreRolledBackAndRowsCanBeWritten) {
  Start(false, true);
  EXPECT_TRUE(Await([&] { return world_.engine->Transactions().empty(); }));
  EXPECT_TRUE(Lock(2).ok());
  const uint64_t history = world_.engine->Figures().purge.history_length;
  EXPECT_GT(history, 0U);
  InsertAndCommit(2000);
  EXPECT_GT(world_.engine->Figures().purge.history_length, history) << "purge runs";
  world_.ExpectTable(id_, rows_);
  Start(true, true);
  ExpectAllDone();
}

TEST_F(ForcedLevelsTest, WithoutRollbackTheRowsOfLosersStayLockedAndAreNotSeen) {
  Start(false, false);
  EXPECT_EQ(world_.engine->Transactions().size(), 1U);
  EXPECT_TRUE(Lock(2).Is(Code::kLockTimeout));
  EXPECT_TRUE(Lock(4).ok());
  InsertAndCommit(2000);
  {
    const std::shared_ptr<Table> table = world_.engine->OpenTable(id_).value();
    EXPECT_EQ(world_.ReadAll(table.get()), rows_);
  }
  EXPECT_EQ(world_.engine->Transactions().size(), 1U) << "rollback runs";
  // A clean shutdown leaves it as it is, too.
  ASSERT_TRUE(world_.Shutdown().ok());
  ASSERT_TRUE(world_.Open().ok());
  EXPECT_TRUE(Lock(2).Is(Code::kLockTimeout));
  Start(true, true);
  ExpectAllDone();
}

}  // namespace
}  // namespace rowan::forced_levels_test
