// SPDX-License-Identifier: GPL-2.0-only
// What becomes of tablespace files that no table owns.
#include "engine/catalog/orphan_files.h"

#include <gtest/gtest.h>

#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr char kCatalogPath[] = "/rowan/space_1.rws";

class OrphanFilesTest : public ::testing::Test {
 protected:
  /// A start as the server makes it.
  void Start() {
    ASSERT_TRUE(world.Open().ok());
    ASSERT_TRUE(world.engine->RemoveOrphanFiles().ok());
    // Until redo is through.
    ASSERT_TRUE(Await([&] { return !world.engine->orphans_pending(); }));
  }
  ToyRows CreateAndFill(const std::string& name, TableId* id, SpaceId* space) {
    std::shared_ptr<Table> table = world.CreateTable(name);
    *id = table->id();
    *space = table->definition().space;
    return world.Fill(table.get(), 100, [](uint64_t row) {
      return ToyRow{static_cast<uint32_t>(row % 7), static_cast<uint32_t>(row), "text"};
    });
  }
  std::vector<std::byte> Contents(const std::string& path) {
    auto file = world.files.Open(path, {.read_only = true});
    std::vector<std::byte> bytes(file.value()->Size().value());
    EXPECT_TRUE(file.value()->Read(0, bytes).ok());
    return bytes;
  }
  void Replace(const std::string& path, Bytes bytes) {
    auto file = world.files.Open(path, {.create = true});
    ASSERT_TRUE(file.value()->Truncate(bytes.size()).ok());
    ASSERT_TRUE(file.value()->Write(0, bytes).ok());
    ASSERT_TRUE(file.value()->Sync(SyncMethod::kFsync).ok());
  }
  void ForgetVersions() {
    for (const std::string& name : world.files.List("/rowan").value()) {
      if (!name.starts_with("rowan.page_lsns")) continue;
      ASSERT_TRUE(world.files.Remove("/rowan/" + name).ok());
    }
  }
  bool Exists(const std::string& path) { return world.files.Exists(path).value(); }
  static std::string NameOf(SpaceId space) {
    return "space_" + std::to_string(space.value()) + ".rws";
  }

  EngineFixture world{TestSeed()};
};

TEST_F(OrphanFilesTest, AnOlderCatalogCostsNoTableAndTheFilesCanBeBroughtBack) {
  TableId kept, younger;
  SpaceId space;
  ASSERT_TRUE(world.Open().ok());
  const ToyRows kept_rows = CreateAndFill("test/kept", &kept, &space);
  ASSERT_TRUE(world.Shutdown().ok());
  const std::vector<std::byte> older = Contents(kCatalogPath);
  ASSERT_TRUE(world.Open().ok());
  const ToyRows rows = CreateAndFill("test/younger", &younger, &space);
  ASSERT_TRUE(world.Shutdown().ok());
  const std::vector<std::byte> newer = Contents(kCatalogPath);
  Replace(kCatalogPath, older);
  ForgetVersions();
  {
    const LogCapture log;
    Start();
    EXPECT_TRUE(log.Has("moved to '/rowan/lost/" + NameOf(space))) << log.Text();
  }
  world.ExpectTable(kept, kept_rows);
  EXPECT_FALSE(world.engine->OpenTable(younger).ok());
  EXPECT_FALSE(Exists("/rowan/" + NameOf(space)));
  ASSERT_TRUE(world.Shutdown().ok());
  // As docs/durability.md says.
  Replace(kCatalogPath, newer);
  ForgetVersions();
  ASSERT_TRUE(world.files.Rename("/rowan/lost/" + NameOf(space), "/rowan/" + NameOf(space)).ok());
  Start();
  world.ExpectTable(kept, kept_rows);
  world.ExpectTable(younger, rows);
  EXPECT_TRUE(world.files.List("/rowan/lost").value().empty());
}

TEST_F(OrphanFilesTest, AFileWithoutAWrittenPageGoesOneWithAByteIsKept) {
  TableId id;
  SpaceId space;
  ASSERT_TRUE(world.Open().ok());
  const ToyRows rows = CreateAndFill("test/t", &id, &space);
  world.Crash(TestSeed() + 1);
  const SpaceId blank(space.value() + 7);
  const SpaceId written(space.value() + 9);
  std::vector<std::byte> bytes(4 * world.options.storage.page_size_bytes);
  Replace("/rowan/" + NameOf(blank), bytes);
  bytes[3 * world.options.storage.page_size_bytes + 100] = std::byte{1};
  Replace("/rowan/" + NameOf(written), bytes);
  Start();
  EXPECT_FALSE(Exists("/rowan/" + NameOf(blank)));
  EXPECT_FALSE(Exists("/rowan/lost/" + NameOf(blank)));
  EXPECT_FALSE(Exists("/rowan/" + NameOf(written)));
  EXPECT_EQ(Contents("/rowan/lost/" + NameOf(written)), bytes);
  world.ExpectTable(id, rows);
  // The same name once more does not replace what is there.
  world.Crash(TestSeed() + 2);
  bytes[0] = std::byte{2};
  Replace("/rowan/" + NameOf(written), bytes);
  Start();
  EXPECT_EQ(Contents("/rowan/lost/" + NameOf(written) + ".1"), bytes);
  world.ExpectTable(id, rows);
}

TEST_F(OrphanFilesTest, NothingIsJudgedBeforePurgeHasCaughtUpWithTheLastRun) {
  TableId id;
  SpaceId space;
  world.options.purges = false;
  ASSERT_TRUE(world.Open().ok());
  const ToyRows rows = CreateAndFill("test/t", &id, &space);
  ASSERT_TRUE(world.Shutdown().ok());
  const SpaceId written(space.value() + 9);
  std::vector<std::byte> bytes(4 * world.options.storage.page_size_bytes, std::byte{1});
  Replace("/rowan/" + NameOf(written), bytes);
  ASSERT_TRUE(world.Open().ok());
  ASSERT_TRUE(world.engine->RemoveOrphanFiles().ok());
  ASSERT_TRUE(world.Shutdown().ok());
  EXPECT_TRUE(Exists("/rowan/" + NameOf(written))) << "purge might remove it: its table's DROP";
  world.options.purges = true;
  Start();
  EXPECT_FALSE(Exists("/rowan/" + NameOf(written)));
  EXPECT_TRUE(Exists("/rowan/lost/" + NameOf(written)));
  world.ExpectTable(id, rows);
}

TEST_F(OrphanFilesTest, ACreateThatIsStillToBeRolledBackLosesItsFileAndNothingIsSetAside) {
  ASSERT_TRUE(world.Open().ok());
  SpaceId space;
  {
    std::unique_ptr<Session> loser = world.engine->NewSession();
    loser->Begin(IsolationLevel::kRepeatableRead);
    Result<std::shared_ptr<Table>> table =
        world.engine->CreateTable(loser.get(), EngineFixture::ToyDefinition("test/half"), 1);
    ASSERT_TRUE(table.ok());
    space = (*table)->definition().space;
    ASSERT_TRUE(world.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
    world.files.PowerOffAfter(0);
  }
  world.engine.reset();
  world.files.Crash({.keep = CrashPlan::Keep::kEverything}, 1);
  ASSERT_TRUE(world.Open().ok());
  ASSERT_TRUE(world.engine->RemoveOrphanFiles().ok());
  EXPECT_TRUE(Await([&] { return !Exists("/rowan/" + NameOf(space)); }));
  EXPECT_FALSE(Exists("/rowan/lost/" + NameOf(space)));
}

}  // namespace
}  // namespace rowan
