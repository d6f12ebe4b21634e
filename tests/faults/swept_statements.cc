// SPDX-License-Identifier: GPL-2.0-only
#include "tests/faults/swept_statements.h"

#include <cctype>
#include <thread>
#include <utility>

#include "engine/engine_impl.h"
#include "mvcc/txn_manager.h"

namespace rowan::faults {
namespace {

constexpr uint64_t kFreshRow = 5000;
constexpr uint64_t kChangedRow = 33;

ToyRow SweptRow(uint64_t id) {
  ToyRow row{static_cast<uint32_t>(id % 11), static_cast<uint32_t>(id), std::string(id % 300, 't')};
  if (id == kRowWithBlob) row.blob = std::string(60'000, 'b');
  return row;
}

// --- making ready ---

void MakeFreshRow(Scene* scene) {
  const ToyRow row{3, kFreshRow, std::string(200, 'n')};
  scene->key = ToyKey(kFreshRow);
  scene->row = ToyEncode(row);
  scene->entries = std::make_unique<ToyEntries>(kFreshRow, row);
  scene->after = scene->rows;
  scene->after[kFreshRow] = row;
}

void MakeChangedRow(Scene* scene) {
  const ToyRow before = scene->rows.at(kChangedRow);
  ToyRow after = before;
  after.value = before.value + 1000;
  after.unique = before.unique + 10'000;
  after.text += "x";
  scene->key = ToyKey(kChangedRow);
  scene->row = ToyEncode(after);
  scene->entries = std::make_unique<ToyEntries>(kChangedRow, before);
  scene->other_entries = std::make_unique<ToyEntries>(kChangedRow, after);
  scene->changes.clear();
  for (size_t i = 0; i < 2; ++i) {
    scene->changes.push_back({scene->entries->images()[i], scene->other_entries->images()[i]});
  }
  scene->after = scene->rows;
  scene->after[kChangedRow] = after;
}

constexpr uint64_t kManyRows = 120;

/// Enough for leaves to be split and merged, and for several pages of undo.
void MakeManyRows(Scene* scene) {
  scene->many.clear();
  for (uint64_t id = 10'000; id < 10'000 + kManyRows; ++id) {
    scene->many.emplace_back(id, ToyRow{static_cast<uint32_t>(id % 7), static_cast<uint32_t>(id),
                                        std::string(400, 'm')});
  }
}

void MakeCursor(Scene* scene, uint32_t index, const ReadOptions& options) {
  scene->cursor = std::make_unique<TableCursor>(scene->session.get(), scene->table.get(),
                                                &scene->codec, options);
  scene->cursor->OpenScan(index);
}

// --- statements ---

Status Insert(Scene* scene) {
  return scene->session->InsertRow(scene->table.get(), AsBytes(scene->key), AsBytes(scene->row),
                                   scene->entries->images());
}

Status Update(Scene* scene) {
  return scene->session->UpdateRow(scene->table.get(), AsBytes(scene->key), AsBytes(scene->key),
                                   AsBytes(scene->row), scene->changes);
}

Status Delete(Scene* scene) {
  return scene->session->DeleteRow(scene->table.get(), AsBytes(scene->key),
                                   scene->entries->images());
}

Status ScanAll(Scene* scene) {
  uint64_t found = 0;
  Status status = scene->cursor->SeekFirst(&scene->record);
  for (; status.ok(); status = scene->cursor->Next(&scene->record)) ++found;
  if (!status.Is(Code::kEndOfRange)) return status;
  EXPECT_EQ(found, scene->rows.size());
  return Status::Ok();
}

Status ScanBackwards(Scene* scene) {
  Status status = scene->cursor->SeekLast(&scene->record);
  for (; status.ok(); status = scene->cursor->Prev(&scene->record)) {
  }
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

Status WriteBlob(Scene* scene) {
  return scene->session->WriteBlob(scene->table.get(), AsBytes(scene->blob)).status();
}

Status CommitChanges(Scene* scene) { return scene->session->Commit(); }

Status BuildAgain(Scene* scene) {
  Status status = scene->build->Start(std::move(scene->new_indexes));
  if (!status.ok()) return status;
  status = scene->build->Build();
  if (!status.ok()) return status;
  return scene->build->Finish();
}

Status Create(Scene* scene) {
  return scene->world.engine->CreateTable(scene->session.get(), std::move(scene->definition))
      .status();
}

Status LoadTable(Scene* scene) {
  for (const PlainRow& loaded : scene->many) {
    Status status = scene->load->AddRow(AsBytes(loaded.key), AsBytes(loaded.row));
    for (const IndexEntry& entry : loaded.entries->images()) {
      if (!status.ok()) return status;
      status = scene->load->AddEntry(entry);
    }
  }
  return scene->load->Finish();
}

Status PrepareAndCommit(Scene* scene) {
  const Status status = scene->session->Prepare(AsBytes(scene->blob)).status();
  return status.ok() ? scene->session->Commit() : status;
}

Status InsertMany(Scene* scene) {
  for (const PlainRow& row : scene->many) {
    const Status status = scene->session->InsertRow(scene->table.get(), AsBytes(row.key),
                                                    AsBytes(row.row), row.entries->images());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status DeleteMany(Scene* scene) {
  for (const PlainRow& row : scene->many) {
    const Status status =
        scene->session->DeleteRow(scene->table.get(), AsBytes(row.key), row.entries->images());
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

/// The unique value goes from one row to another: what is there of it has to be looked at.
Status MoveUniqueValue(Scene* scene) {
  const Status status = Delete(scene);
  if (!status.ok()) return status;
  const PlainRow& row = scene->many.front();
  return scene->session->InsertRow(scene->table.get(), AsBytes(row.key), AsBytes(row.row),
                                   row.entries->images());
}

Status CreateAndCommit(Scene* scene) {
  Result<std::shared_ptr<Table>> made =
      scene->world.engine->CreateTable(scene->session.get(), std::move(scene->definition));
  if (!made.ok()) return made.status();
  scene->made_id = (*made)->id();
  return scene->session->Commit();
}

void DropMade(Scene* scene) {
  scene->Begin();
  EXPECT_TRUE(scene->world.engine->DropTable(scene->session.get(), scene->made_id).ok());
  EXPECT_TRUE(scene->session->Commit().ok());
  scene->session->FinishDdl();
  scene->made_id = TableId(0);
  scene->session.reset();
}

Status DropAndCommit(Scene* scene) {
  Status status = scene->world.engine->DropTable(scene->session.get(), scene->made_id);
  if (!status.ok()) return status;
  status = scene->session->Commit();
  if (status.ok()) scene->session->FinishDdl();
  return status;
}

/// Others have read what is written, and the other way round.
void BeginBesideOthers(Scene* scene) {
  for (std::unique_ptr<Session>* session : {&scene->other, &scene->session}) {
    *session = scene->world.engine->NewSession();
    (*session)->Begin(IsolationLevel::kSerializable);
    (*session)->BeginOptimistic(false);
    (*session)->OpenSnapshot();
  }
  {
    TableCursor reader(scene->other.get(), scene->table.get(), &scene->codec);
    reader.OpenScan(0);
    EXPECT_TRUE(reader.SeekFirst(&scene->record).ok());
    while (reader.Next(&scene->record).ok()) {
    }
    reader.CloseScan();
  }
  MakeChangedRow(scene);
}

Status OptimisticTurn(Scene* scene) {
  const Status status = ScanAll(scene);
  return status.ok() ? Update(scene) : status;
}

std::vector<SweptStatement> ChangeStatements() {
  return {
      {"insert", MakeFreshRow, Insert},
      {"update of keys", MakeChangedRow, Update},
      {"delete", MakeChangedRow, Delete},
      {"update and commit", MakeChangedRow,
       [](Scene* scene) {
         const Status status = Update(scene);
         return status.ok() ? scene->session->Commit() : status;
       },
       true},
      {"insert of many rows", MakeManyRows, InsertMany},
      {"delete of many rows",
       [](Scene* scene) {
         MakeManyRows(scene);
         EXPECT_TRUE(InsertMany(scene).ok());
       },
       DeleteMany},
      {"move of a unique value",
       [](Scene* scene) {
         MakeChangedRow(scene);
         const ToyRow& row = scene->rows.at(kChangedRow);
         scene->many.clear();
         scene->many.emplace_back(kFreshRow, row);
       },
       MoveUniqueValue},
      {"off-page value", [](Scene* scene) { scene->blob = std::string(70'000, 'v'); }, WriteBlob},
  };
}

std::vector<SweptStatement> EndStatements() {
  return {
      {"rollback of many rows",
       [](Scene* scene) {
         MakeManyRows(scene);
         EXPECT_TRUE(InsertMany(scene).ok());
       },
       [](Scene* scene) { return scene->session->Rollback(); }},
      {"commit",
       [](Scene* scene) {
         MakeChangedRow(scene);
         EXPECT_TRUE(Update(scene).ok());
       },
       CommitChanges, true},
      {"rollback",
       [](Scene* scene) {
         MakeChangedRow(scene);
         EXPECT_TRUE(Update(scene).ok());
       },
       [](Scene* scene) { return scene->session->Rollback(); }},
      {"rollback to a savepoint",
       [](Scene* scene) {
         MakeFreshRow(scene);
         EXPECT_TRUE(Insert(scene).ok());
         scene->savepoint = scene->session->Savepoint();
         MakeChangedRow(scene);
         EXPECT_TRUE(Update(scene).ok());
       },
       [](Scene* scene) { return scene->session->RollbackTo(scene->savepoint); }},
      {"prepare and commit",
       [](Scene* scene) {
         MakeChangedRow(scene);
         EXPECT_TRUE(Update(scene).ok());
         scene->blob = "swept";
       },
       PrepareAndCommit, true},
  };
}

std::vector<SweptStatement> ReadStatements() {
  return {
      {"scan", [](Scene* scene) { MakeCursor(scene, 0, {}); }, ScanAll},
      {"scan of an index", [](Scene* scene) { MakeCursor(scene, 1, {}); }, ScanAll},
      {"scan backwards", [](Scene* scene) { MakeCursor(scene, 2, {}); }, ScanBackwards},
      {"locking scan",
       [](Scene* scene) {
         MakeCursor(scene, 1, {.mode = ReadMode::kLockExclusive, .lock_gaps = true});
       },
       ScanAll},
      {"write beside a reader", BeginBesideOthers,
       [](Scene* scene) {
         const Status status = Update(scene);
         return status.ok() ? scene->session->Commit() : status;
       },
       true},
      {"optimistic transaction",
       [](Scene* scene) {
         scene->session = scene->world.engine->NewSession();
         scene->session->Begin(IsolationLevel::kSerializable);
         scene->session->BeginOptimistic(false);
         MakeChangedRow(scene);
         scene->session->OpenSnapshot();
         MakeCursor(scene, 1, {});
       },
       OptimisticTurn},
  };
}

std::vector<SweptStatement> TableStatements() {
  return {
      {"create a table and commit",
       [](Scene* scene) { scene->definition = EngineFixture::ToyDefinition("test/made"); },
       CreateAndCommit, false, DropMade},
      {"drop a table and commit",
       [](Scene* scene) {
         // It may be there still, and a commit that failed may be done all the same.
         if (scene->world.engine->OpenTable(scene->made_id).ok()) return;
         scene->made_id = scene->world.CreateTable("test/gone")->id();
       },
       DropAndCommit, false, [](Scene* scene) { scene->made_id = TableId(0); }},
      {"index build",
       [](Scene* scene) {
         scene->build = std::make_unique<IndexBuild>(
             scene->session.get(), scene->table,
             IndexBuild::Rows{&scene->codec, nullptr, &scene->record}, BuildLimits{});
         scene->new_indexes = {{.index_number = 1}, {.index_number = 2}};
       },
       BuildAgain},
      {"create a table",
       [](Scene* scene) { scene->definition = EngineFixture::ToyDefinition("test/made"); }, Create},
      {"drop a table", [](Scene*) {},
       [](Scene* scene) {
         return scene->world.engine->DropTable(scene->session.get(), scene->table_id);
       }},
      {"bulk load",
       [](Scene* scene) {
         Result<std::shared_ptr<Table>> made = scene->world.engine->CreateTable(
             scene->session.get(), EngineFixture::ToyDefinition("test/loaded"));
         EXPECT_TRUE(made.ok());
         scene->made = *made;
         scene->many.clear();
         for (const auto& [id, row] : scene->rows) scene->many.emplace_back(id, row);
         scene->load = std::make_unique<BulkLoad>(scene->session.get(), scene->made.get(),
                                                  BuildLimits{.sort_memory_bytes = 20'000});
       },
       LoadTable},
  };
}

}  // namespace

PlainRow::PlainRow(uint64_t id, const ToyRow& of)
    : key(ToyKey(id)),
      row(ToyEncode({of.value, of.unique, of.text})),
      entries(std::make_unique<ToyEntries>(id, of)) {}

Scene::Scene(uint64_t seed) : world(seed) {
  world.options.storage.buffer.io_backend = IoBackend::kThreads;
  EXPECT_TRUE(world.Open().ok());
  table = world.CreateTable("test/swept");
  table_id = table->id();
  rows = world.Fill(table.get(), kSweptRows, SweptRow);
}

void Scene::Begin() {
  session = world.engine->NewSession();
  session->Begin(IsolationLevel::kRepeatableRead);
}

Status Scene::End() {
  cursor.reset();
  build.reset();
  load.reset();
  made.reset();
  const Status status = session->Rollback();
  session.reset();
  other.reset();
  return status;
}

bool Scene::Stopped() const { return world.engine->impl()->storage->stopped(); }

void Scene::Restart() {
  table.reset();
  world.engine.reset();
  ASSERT_TRUE(world.Open().ok());
  Result<std::shared_ptr<Table>> opened = world.engine->OpenTable(table_id);
  ASSERT_TRUE(opened.ok()) << opened.status().message();
  table = *opened;
  // Nobody coordinates what was prepared.
  for (const std::string& xid : world.engine->PreparedXids()) {
    EXPECT_TRUE(world.engine->RollbackPrepared(xid).ok());
  }
  AwaitRollbacks();
  if (!after.empty() && world.ReadAll(table.get()) == after) rows = after;
}

void Scene::AwaitRollbacks() {
  const TxnManager& txns = *world.engine->impl()->txns;
  while (txns.LoserCount() != 0 || txns.RollbacksWait()) std::this_thread::yield();
}

void Scene::Check() { world.CheckTable(table.get(), rows); }

const std::vector<SweptStatement>& SweptStatements() {
  static const auto& statements = *new std::vector<SweptStatement>([] {
    std::vector<SweptStatement> all;
    for (const auto& some :
         {ChangeStatements(), EndStatements(), ReadStatements(), TableStatements()}) {
      all.insert(all.end(), some.begin(), some.end());
    }
    return all;
  }());
  return statements;
}

std::string StatementName(const testing::TestParamInfo<size_t>& statement) {
  std::string name = SweptStatements()[statement.param].name;
  for (char& letter : name) {
    if (std::isalnum(static_cast<unsigned char>(letter)) == 0) letter = '_';
  }
  return name;
}

}  // namespace rowan::faults
