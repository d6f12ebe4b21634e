// SPDX-License-Identifier: GPL-2.0-only
// What a session accepts after it was chosen to end a deadlock: its rollback, and nothing else.
#include <gtest/gtest.h>

#include <thread>

#include "tests/engine/engine_fixture.h"

namespace rowan {
namespace {

TEST(DeadlockTest, TheVictimCanOnlyRollBack) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  ToyRows rows = world.Fill(table.get(), 3, [](uint64_t id) {
    return ToyRow{.value = 1, .unique = static_cast<uint32_t>(id), .text = "before"};
  });
  const auto changed = [&](uint64_t id) {
    ToyRow row = rows[id];
    row.text = "after";
    return row;
  };
  const auto update = [&](Session* session, uint64_t id) {
    return EngineFixture::Update(session, table.get(), id, rows[id], changed(id));
  };
  const std::unique_ptr<Session> other = world.engine->NewSession();
  other->Begin();
  ASSERT_TRUE(update(other.get(), 1).ok());
  ASSERT_TRUE(update(other.get(), 3).ok());  // more work done: the other one is the victim
  const std::unique_ptr<Session> victim = world.engine->NewSession();
  victim->Begin();
  ASSERT_TRUE(update(victim.get(), 2).ok());
  std::thread waiter([&] { EXPECT_TRUE(update(other.get(), 2).ok()); });
  Status status = update(victim.get(), 1);
  ASSERT_TRUE(status.Is(Code::kDeadlock)) << status.message();

  EXPECT_TRUE(victim->in_transaction());
  EXPECT_TRUE(update(victim.get(), 2).Is(Code::kDeadlock));
  EXPECT_TRUE(EngineFixture::Insert(victim.get(), table.get(), 9, {}).Is(Code::kDeadlock));
  EXPECT_TRUE(EngineFixture::Delete(victim.get(), table.get(), 2, changed(2)).Is(Code::kDeadlock));
  ToyRow row;
  EXPECT_TRUE(EngineFixture::ReadForUpdate(victim.get(), table.get(), 2, &row).Is(Code::kDeadlock));
  TableCursor cursor(victim.get(), table.get(), &ToyCodec());
  EXPECT_TRUE(cursor.CountEntries(0).status().Is(Code::kDeadlock));
  EXPECT_TRUE(victim->Prepare(AsBytes("xid")).status().Is(Code::kDeadlock));
  EXPECT_TRUE(victim->Commit().Is(Code::kDeadlock));
  ASSERT_TRUE(victim->Rollback().ok());
  waiter.join();
  ASSERT_TRUE(other->Commit().ok());
  for (const uint64_t id : {1, 2, 3}) rows[id] = changed(id);
  EXPECT_EQ(world.ReadAll(table.get()), rows);

  victim->Begin();
  ASSERT_TRUE(EngineFixture::Delete(victim.get(), table.get(), 2, rows[2]).ok());
  ASSERT_TRUE(victim->Commit().ok());
}

}  // namespace
}  // namespace rowan
