// SPDX-License-Identifier: GPL-2.0-only
#include "tests/faults/fault_scene.h"

#include "engine/engine_impl.h"
#include "tests/support/await.h"

namespace rowan::faults {
namespace {

constexpr uint64_t kSceneRows = 300;
constexpr uint64_t kOneRow = 100;
constexpr uint32_t kScenePoolPages = 64;
constexpr uint64_t kFillerRowsPerPoolPage = 20;

ToyRow FirstVersion(uint64_t id) {
  return {static_cast<uint32_t>(id % 11), static_cast<uint32_t>(id), std::string(300, 't')};
}

}  // namespace

FaultScene::FaultScene(Calls calls) : world(TestSeed()) {
  world.options.storage.page_size_bytes = 4096;
  world.options.storage.buffer.pool_bytes = uint64_t{kScenePoolPages} * 4096;
  world.options.storage.log.capacity_bytes = uint64_t{1} << 20;
  world.options.storage.log.buffer_bytes = uint64_t{1} << 16;
  if (calls == Calls::kQueued) {
    world.files.SetAsynchronous(true);
    world.options.storage.buffer.io_backend = IoBackend::kUring;
    world.options.storage.log.sync_method = LogSyncMethod::kUring;
  }
  EXPECT_TRUE(world.Open().ok());
  EXPECT_TRUE(world.engine->RemoveOrphanFiles().ok());
  table = world.CreateTable("test/worked_on");
  other = world.CreateTable("test/beside");
  table_id = table->id();
  other_id = other->id();
  rows = world.Fill(table.get(), kSceneRows, FirstVersion);
  // Larger than the pool: whoever reads it takes the place of all others.
  other_rows = world.Fill(other.get(), kScenePoolPages * kFillerRowsPerPoolPage, FirstVersion);
  Checkpoint();
}

void FaultScene::Begin() {
  session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
  after = rows;
}

Status FaultScene::Change() {
  Status status;
  for (auto row = after.begin(); row != after.end() && status.ok(); ++row) {
    ToyRow changed = row->second;
    changed.value += 1000;
    changed.text.assign(290, 'u');
    status = EngineFixture::Update(session.get(), table.get(), row->first, row->second, changed);
    row->second = changed;
  }
  return status;
}

Status FaultScene::ChangeOne() {
  ToyRow& row = after.at(kOneRow);
  const ToyRow before = row;
  row.text.front() = row.text.front() == 'x' ? 'y' : 'x';
  return EngineFixture::Update(session.get(), table.get(), kOneRow, before, row);
}

Status FaultScene::Commit() {
  const Status status = session->Commit(Durability::kDurable);
  if (status.ok()) rows = after;
  return status;
}

void FaultScene::Undo() {
  if (session == nullptr || world.engine == nullptr) return;
  session->Rollback().Ignore();
  session->FinishDdl();
}

void FaultScene::Checkpoint() {
  const Status status = world.engine->impl()->storage->pool()->FlushAndCheckpoint();
  EXPECT_TRUE(status.ok()) << status.message();
}

void FaultScene::DropPages() {
  Checkpoint();
  EXPECT_EQ(world.ReadAll(other.get()), other_rows);
  Checkpoint();
}

void FaultScene::Shutdown() {
  session.reset();
  reader.reset();
  table.reset();
  other.reset();
  made.reset();
  const Status status = world.Shutdown();
  EXPECT_TRUE(status.ok()) << status.message();
}

void FaultScene::Kill() {
  table.reset();
  other.reset();
  made.reset();
  world.files.PowerOffAfter(0);  // sessions cannot roll back
  session.reset();
  reader.reset();
  world.engine.reset();
  world.files.Crash({.keep = CrashPlan::Keep::kEverything}, TestSeed());
}

void FaultScene::OpenTables() {
  ASSERT_TRUE(Await([this] { return !world.engine->redoing(); }));
  EXPECT_TRUE(world.engine->RemoveOrphanFiles().ok());
  Result<std::shared_ptr<Table>> opened = world.engine->OpenTable(table_id);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  table = *opened;
  opened = world.engine->OpenTable(other_id);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  other = *opened;
}

Status FaultScene::ReadAll() {
  ToyRows found;
  const std::unique_ptr<Session> own = world.engine->NewSession();
  own->Begin(IsolationLevel::kRepeatableRead);
  TableCursor cursor(own.get(), table.get(), &ToyCodec());
  cursor.OpenScan(0);
  StoredRow stored;
  Status status = cursor.SeekFirst(&stored);
  for (; status.ok(); status = cursor.Next(&stored)) {
    found[LoadBe64(stored.key.data())] = ToyDecode(stored.value);
  }
  cursor.CloseScan();
  if (!status.Is(Code::kEndOfRange)) return status;
  EXPECT_EQ(found, rows);
  return Status::Ok();
}

Status FaultScene::CreateTable(const std::string& directory) {
  TableDef definition = EngineFixture::ToyDefinition("test/made");
  definition.directory = directory;
  Result<std::shared_ptr<Table>> created = world.engine->CreateTable(session.get(), definition);
  if (!created.ok()) return created.status();
  made = *created;
  made_id = made->id();
  const Status status = session->Commit();
  if (!status.ok()) made.reset();
  return status;
}

Status FaultScene::DropMade() {
  made.reset();
  Status status = world.engine->DropTable(session.get(), made_id);
  if (status.ok()) status = session->Commit();
  if (status.ok()) session->FinishDdl();
  return status;
}

std::string FaultScene::FileOf(const Table& of) const {
  const std::string path = world.engine->impl()->storage->files()->PathOf(of.space());
  return path.substr(path.rfind('/') + 1);
}

std::string FaultScene::NextFile() const {
  return "space_" + std::to_string(other->space().value() + 1) + ".";
}

// --- what holds once the faults are gone ---

void FaultScene::ExpectUnlocked() {
  EXPECT_TRUE(Await([this] { return world.engine->Transactions().empty(); })) << log.Text();
  EXPECT_EQ(world.engine->Figures().failed_rollbacks, 0U);
  const std::unique_ptr<Session> own = world.engine->NewSession();
  own->Begin(IsolationLevel::kRepeatableRead);
  own->SetLockWait({.timeout_s = 0});
  for (auto& [id, row] : rows) {
    ToyRow changed = row;
    changed.value += 1;
    const Status status = EngineFixture::Update(own.get(), table.get(), id, row, changed);
    ASSERT_TRUE(status.ok()) << "row " << id << ": " << status.message();
    row = changed;
  }
  EXPECT_TRUE(own->Commit().ok());
}

void FaultScene::ExpectDefinitionsChange() {
  const std::shared_ptr<Table> created = world.CreateTable("test/afterwards");
  ASSERT_NE(created, nullptr);
  const std::unique_ptr<Session> own = world.engine->NewSession();
  own->Begin(IsolationLevel::kRepeatableRead);
  EXPECT_TRUE(world.engine->DropTable(own.get(), created->id()).ok());
  EXPECT_TRUE(own->Commit().ok());
  own->FinishDdl();
}

void FaultScene::ExpectHealthy() {
  ASSERT_FALSE(world.engine->stopped()) << log.Text();
  ASSERT_NO_FATAL_FAILURE(ExpectUnlocked());
  ASSERT_NO_FATAL_FAILURE(ExpectDefinitionsChange());
  reader.reset();
  const auto purge = [this] { return world.engine->Figures().purge; };
  EXPECT_TRUE(Await([&] { return purge().history_length == 0; }))
      << purge().history_length
      << " transactions stay, damaged streams: " << purge().damaged_streams
      << ", blocked: " << purge().blocked << ", a snapshot is open for "
      << purge().oldest_snapshot.age_ms << " ms\n"
      << log.Text();
  Checkpoint();
  world.CheckTable(table.get(), rows);
  EXPECT_TRUE(world.engine->CheckSystem().ok());
  Shutdown();
  ASSERT_TRUE(world.Open().ok());
  ASSERT_NO_FATAL_FAILURE(OpenTables());
  world.CheckTable(table.get(), rows);
  world.CheckTable(other.get(), other_rows);
}

void FaultScene::ExpectToldAndLocal() {
  DropPages();
  EXPECT_TRUE(ReadAll().Is(Code::kCorrupt)) << log.Text();
  EXPECT_TRUE(log.Has("test/worked_on")) << log.Text();
  EXPECT_FALSE(world.engine->stopped());
  world.CheckTable(other.get(), other_rows);
  table.reset();
  Begin();
  ASSERT_TRUE(world.engine->DropTable(session.get(), table_id).ok());
  ASSERT_TRUE(session->Commit().ok());
  session->FinishDdl();
  table = world.CreateTable("test/worked_on");
  ASSERT_NE(table, nullptr);
  table_id = table->id();
  rows = world.Fill(table.get(), kSceneRows, FirstVersion);
}

}  // namespace rowan::faults
