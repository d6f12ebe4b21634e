// SPDX-License-Identifier: GPL-2.0-only
// Tables whose files lie outside of the instance folder (TableDef::directory), and what happens
// when the disk with such a file is not there.
#include <gtest/gtest.h>

#include "io/placed_file.h"
#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan::placed_table_test {
namespace {

constexpr char kDirectory[] = "/disk";
constexpr char kFolder[] = "/disk/test";

ToyRow RowOf(uint64_t id) {
  return {static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id), "text"};
}

class PlacedTableTest : public ::testing::Test {
 protected:
  void SetUp() override {
    ASSERT_TRUE(world_.Open().ok());
    const std::shared_ptr<Table> plain = world_.CreateTable("test/plain");
    plain_ = plain->id();
    plain_rows_ = world_.Fill(plain.get(), 50, RowOf);
    const std::shared_ptr<Table> placed = CreatePlaced("test/placed");
    ASSERT_NE(placed, nullptr);
    placed_ = placed->id();
    space_ = placed->definition().space;
    placed_rows_ = world_.Fill(placed.get(), 200, RowOf);
  }
  std::shared_ptr<Table> CreatePlaced(const std::string& name) {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    TableDef definition = EngineFixture::ToyDefinition(name);
    definition.directory = kDirectory;
    Result<std::shared_ptr<Table>> table = world_.engine->CreateTable(session.get(), definition);
    EXPECT_TRUE(table.ok()) << table.status().message();
    EXPECT_TRUE(session->Commit().ok());
    return table.ok() ? *table : nullptr;
  }
  void Checkpoint() {
    ASSERT_TRUE(world_.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
  }
  /// Everything written is there, and nothing more is done.
  void Kill() {
    world_.engine.reset();
    world_.files.Crash({.keep = CrashPlan::Keep::kEverything}, ++crashes_);
  }
  void WaitForRollback() {
    EXPECT_TRUE(Await([&] { return world_.engine->impl()->txns->LoserCount() == 0; }));
  }
  [[nodiscard]] std::vector<std::string> PlacedFiles() {
    return world_.files.List(kFolder).value();
  }
  [[nodiscard]] std::string LinkPath() const {
    return "/rowan/space_" + std::to_string(space_.value()) + ".rws";
  }

  EngineFixture world_{TestSeed()};
  LogCapture log_;
  TableId plain_, placed_;
  SpaceId space_;
  ToyRows plain_rows_, placed_rows_;
  uint64_t crashes_ = 0;
};

TEST_F(PlacedTableTest, ItsRowsAreInTheDirectoryAndSurviveACrash) {
  EXPECT_EQ(PlacedFiles().size(), 1u);
  EXPECT_EQ(world_.files.ReadLink(LinkPath()).value(),
            std::string(kFolder) + "/" + PlacedFiles().front());
  world_.Crash(TestSeed());
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(placed_, placed_rows_);
  world_.ExpectTable(plain_, plain_rows_);
  EXPECT_EQ(world_.engine->DirectoryOf(placed_).value(), kDirectory);
  EXPECT_EQ(world_.engine->DirectoryOf(plain_).value(), "");
  ASSERT_TRUE(world_.Shutdown().ok());
}

TEST_F(PlacedTableTest, DroppingItLeavesNothing) {
  std::unique_ptr<Session> session = world_.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  ASSERT_TRUE(world_.engine->DropTable(session.get(), placed_).ok());
  ASSERT_TRUE(session->Commit().ok());
  session->FinishDdl();
  session.reset();
  ASSERT_TRUE(world_.engine->impl()->storage->files()->RemoveTrash().ok());
  EXPECT_TRUE(Await([&] { return PlacedFiles().empty(); })) << "housekeeping may be at it";
  EXPECT_TRUE(world_.files.ReadLink(LinkPath()).status().Is(Code::kNotFound));
}

TEST_F(PlacedTableTest, WithoutItsDiskTheOthersAreServedAndItIsBackWithTheDisk) {
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.files.Unmount(kDirectory);
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(world_.engine->RemoveOrphanFiles().ok());
  EXPECT_TRUE(log_.Has(std::string("The file '") + kFolder)) << log_.Text();
  EXPECT_TRUE(log_.Has("Is its disk mounted?")) << log_.Text();
  EXPECT_TRUE(IsPlaceMissing(world_.engine->OpenTable(placed_).status()));
  world_.ExpectTable(plain_, plain_rows_);
  world_.files.Unmount("");
  world_.ExpectTable(placed_, placed_rows_);  // no start is needed
  ASSERT_TRUE(world_.Shutdown().ok());
}

TEST_F(PlacedTableTest, AStartThatHasToRedoItWaitsForTheDiskOrServesTheOthers) {
  Kill();
  world_.files.Unmount(kDirectory);
  EXPECT_TRUE(IsPlaceMissing(world_.Open()));
  EXPECT_TRUE(log_.Has("mount its disk and start again")) << log_.Text();
  world_.files.Unmount("");
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(placed_, placed_rows_);
  world_.ExpectTable(plain_, plain_rows_);
  std::shared_ptr<Table> another = CreatePlaced("test/another");
  const TableId awaited = another->id();
  const ToyRows rows = world_.Fill(another.get(), 10, RowOf);
  another.reset();
  Kill();
  world_.files.Unmount(kDirectory);
  world_.options.storage.recovery.force = true;
  ASSERT_TRUE(world_.Open().ok());
  world_.ExpectTable(plain_, plain_rows_);
  world_.files.Unmount("");
  world_.ExpectTable(awaited, rows);
  world_.ExpectTable(placed_, placed_rows_);
}

TEST_F(PlacedTableTest, WhatIsToBeRolledBackWaitsForTheDisk) {
  {
    std::unique_ptr<Session> loser = world_.engine->NewSession();
    loser->Begin(IsolationLevel::kRepeatableRead);
    Table* const table = world_.engine->OpenTable(placed_).value().get();
    for (const uint64_t id : {1000, 1001, 1002}) {
      ASSERT_TRUE(EngineFixture::Insert(loser.get(), table, id, RowOf(id)).ok());
    }
    ASSERT_TRUE(EngineFixture::Delete(loser.get(), table, 7, placed_rows_.at(7)).ok());
    Checkpoint();  // no redo will want the file
    world_.files.PowerOffAfter(0);
  }
  Kill();
  world_.files.Unmount(kDirectory);
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(world_.engine->RemoveOrphanFiles().ok());
  WaitForRollback();  // it fails, and is not done
  world_.ExpectTable(plain_, plain_rows_);
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.files.Unmount("");
  ASSERT_TRUE(world_.Open().ok());
  WaitForRollback();
  world_.ExpectTable(placed_, placed_rows_);
}

TEST_F(PlacedTableTest, ATableDroppedWithoutItsDiskGoesWhenTheDiskIsBack) {
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.files.Unmount(kDirectory);
  ASSERT_TRUE(world_.Open().ok());
  {
    std::unique_ptr<Session> session = world_.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ASSERT_TRUE(world_.engine->DropTable(session.get(), placed_).ok());
    ASSERT_TRUE(session->Commit().ok());
    session->FinishDdl();
  }
  ASSERT_TRUE(world_.Shutdown().ok());
  world_.files.Unmount("");
  EXPECT_EQ(PlacedFiles().size(), 1u);
  ASSERT_TRUE(world_.Open().ok());
  ASSERT_TRUE(world_.engine->impl()->storage->files()->RemoveTrash().ok());
  EXPECT_TRUE(Await([&] { return PlacedFiles().empty(); }));
  world_.ExpectTable(plain_, plain_rows_);
}

TEST_F(PlacedTableTest, AFileWhoseDiskIsBackBeforeItIsJudgedIsKept) {
  // A catalog that knows nothing of it, as an older one would.
  const std::string link = "/rowan/space_900.rws", file = "/disk/test/space_900_x.rws";
  ASSERT_TRUE(world_.Shutdown().ok());
  for (const char* const name : {"/disk/test/space_900_x.rws", "/rowan/space_901.rws"}) {
    auto made = world_.files.Open(name, {.create = true});
    const std::vector<std::byte> bytes(TestPageSizeBytes(), std::byte{7});
    ASSERT_TRUE(made.ok() && made.value()->Write(0, bytes).ok());
  }
  ASSERT_TRUE(world_.files.CreateLink(file, link).ok());
  world_.files.Unmount(kDirectory);
  ASSERT_TRUE(world_.Open().ok());
  world_.files.Unmount("");
  ASSERT_TRUE(world_.engine->RemoveOrphanFiles().ok());
  EXPECT_TRUE(Await([&] { return !world_.engine->orphans_pending(); }));
  EXPECT_TRUE(world_.files.Exists(file).value());
  EXPECT_EQ(world_.files.ReadLink("/rowan/lost/space_900.rws").value(), file);
  EXPECT_TRUE(world_.files.Exists("/rowan/lost/space_901.rws").value());
}

}  // namespace
}  // namespace rowan::placed_table_test
