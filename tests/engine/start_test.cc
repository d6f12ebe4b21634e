// SPDX-License-Identifier: GPL-2.0-only
// What keeps an instance from opening: each refusal says why, and changes nothing.
#include <gtest/gtest.h>

#include <map>

#include "tests/engine/engine_fixture.h"
#include "tests/support/await.h"
#include "tests/support/log_capture.h"
#include "wal/control_file.h"
#include "wal/log_file_header.h"

namespace rowan::start_test {
namespace {

constexpr uint64_t kRows = 2000;

ToyRows Fill(EngineFixture* world, Table* table, size_t text_bytes = 10) {
  return world->Fill(table, kRows, [text_bytes](uint64_t id) {
    return ToyRow{static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id),
                  std::string(text_bytes, 't')};
  });
}

TEST(StartTest, ASecondEngineIsRefusedAndTheFirstGoesOn) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  const auto changes_nothing = [&world] {
    const LogCapture log;
    const uint64_t changes = world.files.Changes();
    const Status status = Engine::Open(&world.files, world.options).status();
    EXPECT_TRUE(status.Is(Code::kBusy)) << status.message();
    EXPECT_TRUE(log.Has("another process has the instance open")) << log.Text();
    return world.files.Changes() <= changes + 2;  // asking for the folder is counted
  };
  // The first one's background work may write something meanwhile, but not each time.
  EXPECT_TRUE(Await(changes_nothing));
  const ToyRows model = Fill(&world, table.get());
  table.reset();
  world.Crash(TestSeed() + 1);
  // The lock went with its owner.
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
}

TEST(StartTest, TheNameOfTheFolderIsDurableWhenTheInstanceIsMade) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  const ToyRows model = Fill(&world, table.get());
  table.reset();
  world.engine.reset();
  world.files.Crash({.keep = CrashPlan::Keep::kNothing}, 1);
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST(StartTest, PurgeWaitsForATableThatCannotBeOpenedJustNow) {
  EngineFixture world(TestSeed());
  world.options.storage.background = false;
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  const TableId id = table->id();
  const std::string path =
      "/rowan/space_" + std::to_string(table->definition().space.value()) + ".rws";
  ToyRows model = Fill(&world, table.get());
  {
    std::unique_ptr<Session> session = world.engine->NewSession();
    session->Begin(IsolationLevel::kRepeatableRead);
    for (uint64_t row = 1; row <= 100; ++row) {
      ASSERT_TRUE(EngineFixture::Delete(session.get(), table.get(), row, model.at(row)).ok());
      model.erase(row);
    }
    ASSERT_TRUE(session->Commit().ok());
  }
  table.reset();
  ASSERT_TRUE(world.Shutdown().ok());
  ASSERT_TRUE(world.Open().ok());
  world.files.Inject({.call = FileCall::kRead, .path_part = path, .lasting = true});
  WorkBudget budget(UINT64_MAX);
  EXPECT_TRUE(world.engine->impl()->txns->PurgeSome(0, 1, &budget).status().Is(Code::kIoError));
  world.files.ClearFaults();
  Result<bool> more = true;
  while (more.ok() && more.value()) more = world.engine->impl()->txns->PurgeSome(0, 1, &budget);
  ASSERT_TRUE(more.ok()) << more.status().message();
  table = world.engine->OpenTable(id).value();
  uint64_t entries = 0;
  const Status checked = world.engine->CheckIndex(table.get(), 0, [&](Bytes, Bytes) {
    ++entries;
    return Status::Ok();
  });
  EXPECT_TRUE(checked.ok());
  EXPECT_EQ(entries, model.size());
}

using Image = std::map<std::string, std::vector<std::byte>>;

/// Every file of the instance, byte for byte.
Image TakeImage(FaultFileSystem* files, const std::string& folder) {
  Image image;
  for (const std::string& name : files->List(folder).value()) {
    auto file = files->Open(folder + "/" + name, {.read_only = true});
    EXPECT_TRUE(file.ok());
    std::vector<std::byte>& bytes = image[name];
    bytes.resize(file.value()->Size().value());
    if (!bytes.empty()) {
      EXPECT_TRUE(file.value()->Read(0, bytes).ok());
    }
  }
  return image;
}

void WriteBack(FaultFileSystem* files, const std::string& folder, const Image& image) {
  for (const auto& [name, bytes] : image) {
    auto file = files->Open(folder + "/" + name, {.create = true});
    ASSERT_TRUE(file.ok());
    ASSERT_TRUE(file.value()->Write(0, bytes).ok());
  }
}

/// An instance that crashed with a long log behind its checkpoint, and pages written home since.
class LostLogTest : public ::testing::Test {
 protected:
  LostLogTest() {
    world.options.storage.background = false;  // no checkpoint but that of the creation
    world.options.storage.log.capacity_bytes = uint64_t{4} << 20;
    world.options.storage.log.buffer_bytes = uint64_t{64} << 10;
    world.options.storage.buffer.pool_bytes = uint64_t{64} * world.options.storage.page_size_bytes;
  }
  void SetUp() override {
    ASSERT_TRUE(world.Open().ok());
    // The start after the creation: its checkpoint is the end of what the creation wrote.
    ASSERT_TRUE(world.Shutdown().ok());
    ASSERT_TRUE(world.Open().ok());
    std::shared_ptr<Table> table = world.CreateTable("test/t");
    id = table->id();
    model = Fill(&world, table.get(), 700);  // more than the pool holds
    durable = world.engine->durable_lsn();
    table.reset();
    world.engine.reset();
    world.files.Crash({.keep = CrashPlan::Keep::kEverything}, 1);
    auto control = ControlFile::Open(&world.files, world.options.storage.folder);
    ASSERT_TRUE(control.ok());
    data = control.value()->data();
    ASSERT_LT(data.checkpoint_lsn.value() + 4 * data.log_file_bytes, durable.value());
  }
  void SetDurableMark(Lsn lsn) {
    auto control = ControlFile::Open(&world.files, world.options.storage.folder);
    ASSERT_TRUE(
        control.value()->Update([lsn](ControlData& next) { next.log_durable_lsn = lsn; }).ok());
  }
  [[nodiscard]] std::string LogName(uint64_t lsn) const {
    return LogFileName(lsn / data.log_file_bytes);
  }
  /// The log's bytes from the first block behind the checkpoint on read as zeros.
  void WipeLog() {
    const uint64_t from = (data.checkpoint_lsn.value() / 4096 + 1) * 4096;
    for (uint64_t lsn = from; lsn < durable.value(); lsn += 4096) {
      auto file = world.files.Open(world.options.storage.folder + "/" + LogName(lsn), {});
      ASSERT_TRUE(file.ok());
      const std::vector<std::byte> zeros(4096);
      ASSERT_TRUE(file.value()->Write(4096 + lsn % data.log_file_bytes, zeros).ok());
    }
  }
  /// Opening says `sentence` and leaves every byte as it was.
  void ExpectRefused(const std::string& sentence) {
    const Image before = TakeImage(&world.files, world.options.storage.folder);
    const LogCapture log;
    const Status status = world.Open();
    EXPECT_TRUE(status.Is(Code::kCorrupt)) << status.message();
    EXPECT_TRUE(log.Has(sentence)) << log.Text();
    const Image after = TakeImage(&world.files, world.options.storage.folder);
    ASSERT_EQ(before.size(), after.size());
    for (const auto& [name, bytes] : before) EXPECT_TRUE(after.at(name) == bytes) << name;
  }

  EngineFixture world{TestSeed()};
  TableId id;
  ToyRows model;
  Lsn durable;
  ControlData data;
};

TEST_F(LostLogTest, AnEndBelowTheDurableMarkIsRefusedUntilItIsBack) {
  SetDurableMark(durable);
  const Image whole = TakeImage(&world.files, world.options.storage.folder);
  WipeLog();
  ExpectRefused("its end is missing");
  WriteBack(&world.files, world.options.storage.folder, whole);
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST_F(LostLogTest, ImagesFromBehindTheEndAreJudgedBeforeAnythingIsWritten) {
  SetDurableMark(Lsn(0));
  const Image whole = TakeImage(&world.files, world.options.storage.folder);
  WipeLog();
  ExpectRefused("the end of the log is damaged");
  WriteBack(&world.files, world.options.storage.folder, whole);
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST_F(LostLogTest, MissingFilesInTheMiddleAreRefusedUntilTheyAreBack) {
  SetDurableMark(Lsn(0));
  // So that nothing but the gap in the names tells of it.
  ASSERT_TRUE(world.files.Rename("/rowan/rowan.doublewrite", "/hidden/rowan.doublewrite").ok());
  const uint64_t first = data.checkpoint_lsn.value() + data.log_file_bytes;
  const std::string names[] = {LogName(first), LogName(first + data.log_file_bytes)};
  for (const std::string& name : names) {
    ASSERT_TRUE(world.files.Rename("/rowan/" + name, "/hidden/" + name).ok());
  }
  ExpectRefused("is missing, although later ones are there");
  for (const std::string& name : names) {
    ASSERT_TRUE(world.files.Rename("/hidden/" + name, "/rowan/" + name).ok());
  }
  ASSERT_TRUE(world.files.Rename("/hidden/rowan.doublewrite", "/rowan/rowan.doublewrite").ok());
  ASSERT_TRUE(world.Open().ok());
  world.ExpectTable(id, model);
}

TEST(StartTest, AShutdownAndEachCheckpointNoteHowFarTheLogWasDurable) {
  EngineFixture world(TestSeed());
  ASSERT_TRUE(world.Open().ok());
  std::shared_ptr<Table> table = world.CreateTable("test/t");
  Fill(&world, table.get());
  table.reset();
  const Lsn durable = world.engine->durable_lsn();
  ASSERT_TRUE(world.engine->impl()->storage->pool()->FlushAndCheckpoint().ok());
  world.engine.reset();
  auto control = ControlFile::Open(&world.files, world.options.storage.folder);
  EXPECT_GE(control.value()->data().log_durable_lsn, durable);
  EXPECT_GE(control.value()->data().log_durable_lsn, control.value()->data().checkpoint_lsn);
}

}  // namespace
}  // namespace rowan::start_test
