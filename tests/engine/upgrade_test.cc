// SPDX-License-Identifier: GPL-2.0-only
// Instances of an older format: they are opened with all rows, go on as instances of today's format
// and survive whatever cuts the upgrade short. The instances were made by the plugin of format 1:
// pages of 4 KiB, one table with the ids 1 to 50 but for each tenth.
#include <gtest/gtest.h>

#include <set>

#include "base/logging.h"
#include "tests/engine/engine_fixture.h"
#include "tests/engine/instance_image.h"
#include "tests/support/log_capture.h"
#include "wal/control_file.h"
#include "wal/log_file_header.h"

namespace rowan {
namespace {

constexpr const char* kClean = "format1_clean.hex";
constexpr const char* kKilled = "format1_killed.hex";
constexpr uint32_t kTableIdsMax = 100;

class UpgradeTest : public ::testing::Test {
 protected:
  UpgradeTest() { world.options.storage.log.capacity_bytes = uint64_t{1} << 20; }

  void Load(const char* name) { LoadInstance(&world.files, world.options.storage.folder, name); }
  uint32_t VersionOnDisk() {
    auto control = ControlFile::Open(&world.files, world.options.storage.folder);
    EXPECT_TRUE(control.ok());
    return control.ok() ? control.value()->data().format_version : 0;
  }
  std::shared_ptr<Table> OldTable() {
    for (uint32_t id = 1; id <= kTableIdsMax; ++id) {
      Result<std::shared_ptr<Table>> table = world.engine->OpenTable(TableId(id));
      if (table.ok() && (*table)->name().ends_with("d/t")) return *table;
    }
    ADD_FAILURE() << "the table is not there";
    return nullptr;
  }
  /// What the plugin stored: "row number 7" in the row with the id 7, its key big-endian with the
  /// sign turned.
  void ExpectRows() {
    const std::shared_ptr<Table> table = OldTable();
    ASSERT_NE(table, nullptr);
    std::set<uint32_t> found;
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    TableCursor cursor(session.get(), table.get(), &ToyCodec());
    const Status status = cursor.VisitEntries(0, [&found](Bytes key, Bytes row) {
      const uint32_t id = LoadBe32(key.data()) ^ 0x80000000U;
      found.insert(id);
      EXPECT_NE(AsText(row).find("row number " + std::to_string(id)), std::string::npos) << id;
      return Status::Ok();
    });
    EXPECT_TRUE(status.ok()) << status.message();
    EXPECT_TRUE(session->Commit().ok());
    std::set<uint32_t> expected;
    for (uint32_t id = 1; id <= 50; ++id) {
      if (id % 10 != 0) expected.insert(id);
    }
    EXPECT_EQ(found, expected);
    for (size_t i = 0; i < table->index_count(); ++i) {
      EXPECT_TRUE(world.engine->CheckIndex(table.get(), i, {}).ok()) << i;
    }
    EXPECT_TRUE(world.engine->CheckSpace(table.get()).ok());
    EXPECT_TRUE(world.engine->CheckSystem().ok());
  }
  /// A further table, then crashes and shutdowns.
  void UseIt() {
    std::shared_ptr<Table> table = world.CreateTable("test/new");
    ASSERT_NE(table, nullptr);
    const TableId id = table->id();
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    ToyRows rows;
    for (uint64_t row = 1; row <= 200; ++row) {
      rows[row] = {static_cast<uint32_t>(row % 7), static_cast<uint32_t>(row), "text", ""};
      ASSERT_TRUE(EngineFixture::Insert(session.get(), table.get(), row, rows[row]).ok());
    }
    ASSERT_TRUE(session->Commit().ok());
    session.reset();
    table.reset();
    world.Crash(TestSeed());
    ASSERT_TRUE(world.Open().ok());
    world.ExpectTable(id, rows);
    ExpectRows();
    ASSERT_TRUE(world.Shutdown().ok());
    ASSERT_TRUE(world.Open().ok());
    world.ExpectTable(id, rows);
    ExpectRows();
  }

  EngineFixture world{TestSeed()};
};

TEST_F(UpgradeTest, AnInstanceThatWasShutDownIsUpgradedWhenItIsOpened) {
  Load(kClean);
  EXPECT_EQ(VersionOnDisk(), 1u);
  {
    const LogCapture log;
    ASSERT_TRUE(world.Open().ok()) << log.Text();
    EXPECT_TRUE(log.Has("upgraded from format 1 to format 2")) << log.Text();
  }
  ExpectRows();
  UseIt();
  ASSERT_TRUE(world.Shutdown().ok());
  EXPECT_EQ(VersionOnDisk(), kFormatVersion);
  const LogCapture log;
  ASSERT_TRUE(world.Open().ok());
  EXPECT_FALSE(log.Has("upgraded")) << log.Text();
}

TEST_F(UpgradeTest, AnInstanceWhoseServerWasKilledIsRecoveredAndUpgraded) {
  Load(kKilled);
  EXPECT_EQ(VersionOnDisk(), 1u);
  const LogCapture log;
  ASSERT_TRUE(world.Open().ok()) << log.Text();
  EXPECT_TRUE(log.Has("upgraded from format 1 to format 2")) << log.Text();
  EXPECT_TRUE(log.Has("unfinished transactions")) << log.Text();
  ExpectRows();
  UseIt();
}

TEST_F(UpgradeTest, AnUpgradeMayBeCutShortAnywhere) {
  SetLogLevel(LogLevel::kError);
  for (const char* name : {kClean, kKilled}) {
    for (uint64_t changes = 0; changes < 60; changes += 3) {
      SCOPED_TRACE(std::string(name) + ", changes " + std::to_string(changes));
      EngineFixture other(changes);
      other.options = world.options;
      LoadInstance(&other.files, other.options.storage.folder, name);
      other.files.PowerOffAfter(changes);
      if (other.Open().ok()) other.engine.reset();
      other.files.Crash(changes);
      const Status status = other.Open();
      ASSERT_TRUE(status.ok()) << status.message();
      std::swap(world.engine, other.engine);
      ExpectRows();
      world.engine.reset();
    }
  }
  SetLogLevel(LogLevel::kInfo);
}

TEST_F(UpgradeTest, OldLogFilesAreReadBesideNewOnes) {
  Load(kKilled);
  world.options.storage.log.capacity_bytes = uint64_t{64} << 20;
  ASSERT_TRUE(world.Open().ok());
  UseIt();
  world.options.storage.log.capacity_bytes = uint64_t{1} << 20;
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  ExpectRows();
}

}  // namespace
}  // namespace rowan
