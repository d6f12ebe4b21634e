// SPDX-License-Identifier: GPL-2.0-only
// Filling a new table in bulk: what is in it afterwards, what is refused, and that nothing stays of
// it when its transaction does not commit.
#include "engine/bulk_load.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"

namespace rowan::bulk_load_test {
namespace {

ToyRow MakeRow(uint64_t id) {
  return {static_cast<uint32_t>(id * 7919 % 1000), static_cast<uint32_t>(id * 31 + 5),
          std::string(id % 60, 't')};
}

class BulkLoadTest : public ::testing::Test {
 protected:
  BulkLoadTest() : world_(TestSeed()) { EXPECT_TRUE(world_.Open().ok()); }

  /// A session whose transaction has created a table.
  void Begin() {
    session_ = world_.engine->NewSession();
    session_->Begin(IsolationLevel::kRepeatableRead);
    Result<std::shared_ptr<Table>> created =
        world_.engine->CreateTable(session_.get(), EngineFixture::ToyDefinition("test/load"), 1);
    ASSERT_TRUE(created.ok());
    table_ = *created;
    ASSERT_TRUE(BulkLoad::IsPossible(session_.get(), table_.get()).value());
  }
  void Load(const std::vector<uint64_t>& ids, size_t sort_memory_bytes) {
    BulkLoad load(session_.get(), table_.get(), {.sort_memory_bytes = sort_memory_bytes});
    for (const uint64_t id : ids) {
      ASSERT_TRUE(EngineFixture::Load(&load, id, MakeRow(id)).ok());
      model_[id] = MakeRow(id);
    }
    ASSERT_TRUE(load.Finish().ok());
  }
  void CommitAndCheck() {
    ASSERT_TRUE(session_->Commit().ok());
    world_.ExpectTable(table_->id(), model_);
  }
  static std::vector<uint64_t> Ids(uint64_t count) {
    std::vector<uint64_t> ids(count);
    for (uint64_t i = 0; i < count; ++i) ids[i] = i + 1;
    return ids;
  }

  EngineFixture world_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Table> table_;
  ToyRows model_;
};

TEST_F(BulkLoadTest, AnEmptyLoadLeavesAnEmptyTable) {
  Begin();
  Load({}, 1 << 20);
  CommitAndCheck();
}

TEST_F(BulkLoadTest, RowsInOrderAndChangesAfterwards) {
  Begin();
  Load(Ids(5000), 1);  // the smallest memory: several runs
  CommitAndCheck();
  session_->Begin(IsolationLevel::kRepeatableRead);
  const ToyRow other{1, 2, "changed"};
  ASSERT_TRUE(EngineFixture::Update(session_.get(), table_.get(), 17, model_[17], other).ok());
  ASSERT_TRUE(EngineFixture::Delete(session_.get(), table_.get(), 4000, model_[4000]).ok());
  model_[17] = other;
  model_.erase(4000);
  CommitAndCheck();
}

TEST_F(BulkLoadTest, RowsOutOfOrderAreTakenToo) {
  Begin();
  std::vector<uint64_t> ids = Ids(2000);
  Random random(TestSeed());
  for (size_t i = 700; i < ids.size(); ++i) {
    std::swap(ids[i], ids[700 + random.Below(ids.size() - 700)]);
  }
  Load(ids, 1 << 20);
  CommitAndCheck();
}

TEST_F(BulkLoadTest, DuplicatesAreNamed) {
  Begin();
  BulkLoad load(session_.get(), table_.get(), {.sort_memory_bytes = 1 << 20});
  for (uint64_t id = 1; id <= 100; ++id) {
    ASSERT_TRUE(EngineFixture::Load(&load, id, MakeRow(id)).ok());
  }
  const Status clustered = EngineFixture::Load(&load, 50, MakeRow(5000));
  EXPECT_TRUE(clustered.Is(Code::kDuplicate));
  EXPECT_EQ(clustered.detail(), 0U);
  ToyRow taken = MakeRow(101);
  taken.unique = MakeRow(7).unique;
  ASSERT_TRUE(EngineFixture::Load(&load, 101, taken).ok());  // found only when the index is built
  const Status unique = load.Finish();
  EXPECT_TRUE(unique.Is(Code::kDuplicate));
  EXPECT_EQ(unique.detail(), 2U);
  EXPECT_EQ(AsText(load.duplicate_key()), ToyUniqueEntry(101, taken));
  ASSERT_TRUE(session_->Rollback().ok());
}

TEST_F(BulkLoadTest, RollbackAndCrashLeaveNoTableAndNoFile) {
  Begin();
  Load(Ids(1000), 1 << 20);
  ASSERT_TRUE(session_->Rollback().ok());
  table_.reset();
  EXPECT_TRUE(world_.engine->ListTables().empty());
  Begin();
  Load(Ids(1000), 1 << 20);
  ASSERT_TRUE(world_.engine->FlushLog().ok());
  world_.files.PowerOffAfter(0);
  session_.reset();
  table_.reset();
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  // The loser is rolled back in the background.
  EXPECT_TRUE(Await([&] { return world_.engine->ListTables().empty(); }));
}

TEST_F(BulkLoadTest, CommittedRowsSurviveACrash) {
  Begin();
  Load(Ids(3000), 1 << 20);
  ASSERT_TRUE(session_->Commit().ok());
  const TableId id = table_->id();
  world_.files.PowerOffAfter(0);
  session_.reset();
  table_.reset();
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(id, model_);
}

TEST_F(BulkLoadTest, OnlyTheCreatorMayLoadAndOnlyAnEmptyTable) {
  Begin();
  std::unique_ptr<Session> other = world_.engine->NewSession();
  other->Begin(IsolationLevel::kRepeatableRead);
  EXPECT_FALSE(BulkLoad::IsPossible(other.get(), table_.get()).value());
  other.reset();
  ASSERT_TRUE(EngineFixture::Insert(session_.get(), table_.get(), 1, MakeRow(1)).ok());
  EXPECT_FALSE(BulkLoad::IsPossible(session_.get(), table_.get()).value());
}

TEST_F(BulkLoadTest, AnOlderSnapshotMustNotReadTheTable) {
  std::unique_ptr<Session> old = world_.engine->NewSession();
  old->Begin(IsolationLevel::kRepeatableRead);
  old->OpenSnapshot();
  Begin();
  Load(Ids(10), 1 << 20);
  EXPECT_TRUE(session_->OpenSnapshotFor(*table_).ok()) << "its own table";
  CommitAndCheck();
  EXPECT_TRUE(old->OpenSnapshotFor(*table_).Is(Code::kTableChanged));
  ASSERT_TRUE(old->Rollback().ok());
  old->Begin(IsolationLevel::kRepeatableRead);
  EXPECT_TRUE(old->OpenSnapshotFor(*table_).ok());
}

TEST_F(BulkLoadTest, AnInterruptionEndsTheBuild) {
  Begin();
  BulkLoad load(session_.get(), table_.get(), {.sort_memory_bytes = 1 << 20});
  for (uint64_t id = 1; id <= 5000; ++id) {
    ASSERT_TRUE(EngineFixture::Load(&load, id, MakeRow(id)).ok());
  }
  session_->Interrupt();
  EXPECT_TRUE(load.Finish().Is(Code::kInterrupted));
  ASSERT_TRUE(session_->Rollback().ok());
}

}  // namespace
}  // namespace rowan::bulk_load_test
