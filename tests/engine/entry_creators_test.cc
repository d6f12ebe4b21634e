// SPDX-License-Identifier: GPL-2.0-only
// A crash behind leaves whose entries lost the ids of their creators, with a transaction open that
// has marked such entries: what was committed is there, the rest is rolled back.
#include <gtest/gtest.h>

#include <string>

#include "base/counters.h"
#include "tests/engine/engine_fixture.h"

namespace rowan::entry_creators_test {
namespace {

constexpr uint64_t kRowsPerTxn = 16;
constexpr uint64_t kRowsBetween = 512;
constexpr uint64_t kRowsMax = 200000;  // sooner or later a horizon moves and a leaf is full
constexpr uint64_t kShortenedEnough = 2000;

ToyRow MakeRow(uint64_t id) {
  return {static_cast<uint32_t>(id * 2654435761U % (1U << 20)), static_cast<uint32_t>(id * 31 + 5),
          std::string(id % 5, 't')};
}

class EntryCreatorsTest : public ::testing::Test {
 protected:
  EntryCreatorsTest() : world_(TestSeed()) {}

  void Insert(Table* table, uint64_t rows) {
    const std::unique_ptr<Session> session = world_.engine->NewSession();
    for (; rows > 0; rows -= kRowsPerTxn) {
      session->Begin(IsolationLevel::kRepeatableRead);
      for (uint64_t i = 0; i < kRowsPerTxn; ++i) {
        const uint64_t id = model_.size() + 1;
        ASSERT_TRUE(EngineFixture::Insert(session.get(), table, id, MakeRow(id)).ok());
        model_[id] = MakeRow(id);
      }
      ASSERT_TRUE(session->Commit().ok());
    }
  }

  /// Marks entries and makes new ones.
  void Change(Session* session, Table* table) {
    for (uint64_t id = 1; id <= 100; ++id) {
      ToyRow other = model_[id];
      other.value += 7;
      ASSERT_TRUE(EngineFixture::Update(session, table, id, model_[id], other).ok());
    }
  }

  EngineFixture world_;
  ToyRows model_;
};

TEST_F(EntryCreatorsTest, ACrashBehindThemLosesNothing) {
  ASSERT_TRUE(world_.Open().ok());
  const TableId id = world_.CreateTable("test/creators")->id();
  for (uint64_t seed = 1; seed <= 3; ++seed) {
    SCOPED_TRACE(seed);
    ResetCounters();
    {
      Result<std::shared_ptr<Table>> table = world_.engine->OpenTable(id);
      ASSERT_TRUE(table.ok());
      Insert(table->get(), kRowsBetween);
      const std::unique_ptr<Session> open = world_.engine->NewSession();
      open->Begin(IsolationLevel::kRepeatableRead);
      Change(open.get(), table->get());
      while (ReadCounter(Counter::kEntriesShortened) < kShortenedEnough &&
             model_.size() < kRowsMax && !HasFatalFailure()) {
        Insert(table->get(), kRowsBetween);
      }
      EXPECT_GE(ReadCounter(Counter::kEntriesShortened), kShortenedEnough);
      ASSERT_TRUE(world_.engine->FlushLog().ok());
      world_.files.PowerOffAfter(0);
    }
    world_.Crash(seed);
    ASSERT_TRUE(world_.Open().ok());
    world_.ExpectTable(id, model_);
  }
}

}  // namespace
}  // namespace rowan::entry_creators_test
