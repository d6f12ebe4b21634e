// SPDX-License-Identifier: GPL-2.0-only
// Scans that read what others have locked as it was last committed.
#include <gtest/gtest.h>

#include <memory>

#include "base/work_budget.h"
#include "engine/stored_row.h"
#include "engine/table_cursor.h"
#include "tests/engine/engine_fixture.h"

namespace rowan::semi_consistent_test {
namespace {

ToyRow RowOf(uint64_t id) { return {static_cast<uint32_t>(id), static_cast<uint32_t>(id), "x"}; }

// The version that they read may be overwritten by a writer that commits in the same moment.
TEST(SemiConsistentTest, PurgeWaitsForTheStatement) {
  EngineFixture world(TestSeed());
  world.options.purges = false;
  ASSERT_TRUE(world.Open().ok());
  const std::shared_ptr<Table> table = world.CreateTable("test/t");
  ASSERT_NE(table, nullptr);
  world.Fill(table.get(), 3, RowOf);
  TxnManager* const txns = world.engine->impl()->txns.get();
  const auto purge = [txns] {
    WorkBudget all(UINT64_MAX);
    txns->RefreshHorizon();
    EXPECT_TRUE(txns->PurgeSome(0, 1, &all).ok());
    return txns->HistoryLength();
  };
  while (purge() != 0) {
  }
  const std::unique_ptr<Session> reader = world.engine->NewSession();
  reader->Begin(IsolationLevel::kReadCommitted);
  reader->StartStatement();
  const std::unique_ptr<Session> writer = world.engine->NewSession();
  writer->Begin(IsolationLevel::kReadCommitted);
  ASSERT_TRUE(EngineFixture::Update(writer.get(), table.get(), 2, RowOf(2), RowOf(20)).ok());

  TableCursor cursor(reader.get(), table.get(), &ToyCodec(),
                     {.mode = ReadMode::kLockExclusive, .semi_consistent = true});
  StoredRow row;
  cursor.OpenScan(0);
  ASSERT_TRUE(cursor.SeekFirst(&row).ok());
  ASSERT_TRUE(cursor.Next(&row).ok());
  EXPECT_TRUE(cursor.WillReadAgain());
  ASSERT_TRUE(writer->Commit().ok());
  EXPECT_EQ(purge(), 1u);
  cursor.CloseScan();
  ASSERT_TRUE(reader->EndStatement(StatementEnd::kKeep).ok());
  EXPECT_EQ(purge(), 0u);
}

}  // namespace
}  // namespace rowan::semi_consistent_test
