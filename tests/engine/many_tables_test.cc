// SPDX-License-Identifier: GPL-2.0-only
// More tables than file handles: all are written in turn, descriptors run out now and then, the
// power goes, and everything is there.
#include <gtest/gtest.h>

#include <cerrno>

#include "tests/engine/engine_fixture.h"

namespace rowan::many_tables_test {
namespace {

constexpr uint32_t kTables = 60;
constexpr uint32_t kHandles = 12;

ToyRow RowOf(uint32_t table, uint64_t id) { return {table, static_cast<uint32_t>(id), "row"}; }

void InsertEverywhere(EngineFixture* world, const std::vector<std::shared_ptr<Table>>& tables,
                      uint64_t id) {
  for (uint32_t i = 0; i < kTables; ++i) {
    std::unique_ptr<Session> session = world->engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(EngineFixture::Insert(session.get(), tables[i].get(), id, RowOf(i, id)).ok());
    ASSERT_TRUE(session->Commit().ok());
  }
}

TEST(ManyTables, AreWrittenInTurnWithFewHandlesAndShortagesOfDescriptors) {
  EngineFixture world(TestSeed());
  world.options.storage.files.open_files_max = kHandles;
  ASSERT_TRUE(world.Open().ok());
  std::vector<std::shared_ptr<Table>> tables;
  std::vector<TableId> ids;
  for (uint32_t i = 0; i < kTables; ++i) {
    tables.push_back(world.CreateTable("test/t" + std::to_string(i)));
    ASSERT_NE(tables.back(), nullptr);
    ids.push_back(tables.back()->id());
  }
  for (uint64_t id = 1; id <= 6; ++id) {
    for (const int error : {EMFILE, ENOMEM}) {
      world.files.Inject({.call = FileCall::kOpen, .path_part = "space_", .error = error});
      world.files.Inject({.call = FileCall::kOpen, .path_part = "redo", .error = error});
    }
    InsertEverywhere(&world, tables, id);
    ASSERT_TRUE(world.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    // In use at a time, besides: what the page writers have under way.
    EXPECT_LE(world.engine->Figures().open_files, kHandles + 8);
  }
  EXPECT_FALSE(world.engine->stopped());
  tables.clear();
  world.Crash(TestSeed() + 1);
  ASSERT_TRUE(world.Open().ok());
  for (uint32_t i = 0; i < kTables; ++i) {
    ToyRows model;
    for (uint64_t id = 1; id <= 6; ++id) model[id] = RowOf(i, id);
    world.ExpectTable(ids[i], model);
  }
}

}  // namespace
}  // namespace rowan::many_tables_test
