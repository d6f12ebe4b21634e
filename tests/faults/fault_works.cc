// SPDX-License-Identifier: GPL-2.0-only
// The works of tests/faults/fault_rules.txt.
#include "engine/bulk_load.h"
#include "engine/engine_impl.h"
#include "engine/export_file.h"
#include "storage/backup.h"
#include "tests/faults/fault_scene.h"
#include "tests/support/await.h"

namespace rowan::faults {
namespace {

constexpr char kExport[] = "/rowan/exported.rwx";
constexpr char kDirectory[] = "/disk";
constexpr uint64_t kNewRowFirst = 10'000;
constexpr uint64_t kNewRows = 200;
constexpr uint64_t kLogFillers = 40;  ///< several times the log
constexpr uint32_t kExtentsAtOnce = 4;
constexpr int kMoreFlushes = 3;

// --- rows ---

Status ChangeAndCommit(FaultScene* scene) {
  const Status status = scene->Change();
  return status.ok() ? scene->Commit() : status;
}

Status Grow(FaultScene* scene) {
  Status status;
  for (uint64_t id = kNewRowFirst; id < kNewRowFirst + kNewRows && status.ok(); ++id) {
    scene->after[id] = {1, static_cast<uint32_t>(id), std::string(900, 'g')};
    status =
        EngineFixture::Insert(scene->session.get(), scene->table.get(), id, scene->after.at(id));
  }
  return status.ok() ? scene->Commit() : status;
}

void Restart(FaultScene* scene) {
  scene->Shutdown();
  ASSERT_TRUE(scene->world.Open().ok());
  scene->OpenTables();
  scene->Begin();
}

void PrepareRollback(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(scene->Change().ok());
  scene->DropPages();
}

bool NoTransactions(FaultScene* scene) { return scene->world.engine->Transactions().empty(); }

/// A snapshot that keeps purge away.
void OpenReader(FaultScene* scene) {
  scene->reader = scene->world.engine->NewSession();
  scene->reader->Begin(IsolationLevel::kRepeatableRead);
  scene->reader->OpenSnapshot();
}

/// Deleted rows that are yet to be purged.
void PreparePurge(FaultScene* scene) {
  OpenReader(scene);
  scene->Begin();
  for (auto row = scene->after.begin(); row != scene->after.end();) {
    const auto next = std::next(row);
    if (row->first % 2 == 0) {
      EXPECT_TRUE(
          EngineFixture::Delete(scene->session.get(), scene->table.get(), row->first, row->second)
              .ok());
      scene->after.erase(row);
    }
    row = next;
  }
  EXPECT_TRUE(scene->Commit().ok());
  scene->DropPages();
}

Status Purge(FaultScene* scene) {
  const Status status = scene->reader->Commit();
  EXPECT_TRUE(Await([&] { return scene->FaultMet(); }));
  return status;
}

bool NothingToPurge(FaultScene* scene) {
  return scene->world.engine->Figures().purge.history_length == 0;
}

Status ChangeTemporary(FaultScene* scene) {
  Result<Session*> part = scene->session->Temporary();
  Status status = part.status();
  for (uint64_t id = 1; id <= kNewRows && status.ok(); ++id) {
    status = EngineFixture::Insert(*part, scene->made.get(), id,
                                   {1, static_cast<uint32_t>(id), std::string(900, 't')});
  }
  return status.ok() ? scene->session->Commit() : status;
}

void PrepareTemporary(FaultScene* scene) {
  scene->Begin();
  scene->made =
      scene->world.engine->CreateTemporaryTable(EngineFixture::ToyDefinition("tmp"), 1).value();
}

// --- pages and the log ---

void PrepareCheckpoint(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(ChangeAndCommit(scene).ok());
}

Status ChangeOneAndCommit(FaultScene* scene) {
  const Status status = scene->ChangeOne();
  return status.ok() ? scene->Commit() : status;
}

void PrepareCheckpointOfOne(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(ChangeOneAndCommit(scene).ok());
}

Status FlushAll(FaultScene* scene) {
  BufferPool* const pool = scene->world.engine->impl()->storage->pool();
  Status status = pool->FlushAndCheckpoint();
  // What there was to write, a cleaner may have written before the fault came.
  for (int turn = 0; turn < kMoreFlushes && status.ok() && !scene->FaultMet(); ++turn) {
    scene->session->Begin(IsolationLevel::kRepeatableRead);
    status = ChangeOneAndCommit(scene);
    if (status.ok()) status = pool->FlushAndCheckpoint();
  }
  return status;
}

/// Until the log has needed other files.
Status FillLog(FaultScene* scene) {
  Status status;
  for (uint64_t turn = 0; turn < kLogFillers && status.ok() && !scene->FaultMet(); ++turn) {
    scene->session->Begin(IsolationLevel::kRepeatableRead);
    status = ChangeAndCommit(scene);
  }
  return status;
}

Status EnlargeLog(FaultScene* scene) {
  const Status status = scene->world.engine->SetRedoLogCapacity(uint64_t{4} << 20);
  return status.ok() ? FillLog(scene) : status;
}

void PrepareLargeLog(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(scene->world.engine->SetRedoLogCapacity(uint64_t{4} << 20).ok());
  EXPECT_TRUE(FillLog(scene).ok());
}

Status ShrinkLog(FaultScene* scene) {
  const Status status = scene->world.engine->SetRedoLogCapacity(uint64_t{1} << 20);
  return status.ok() ? FillLog(scene) : status;
}

/// Undo that nobody needs any more.
void PrepareHoles(FaultScene* scene) {
  OpenReader(scene);
  scene->Begin();
  for (int turn = 0; turn < 80; ++turn) {
    scene->session->Begin(IsolationLevel::kRepeatableRead);
    EXPECT_TRUE(ChangeAndCommit(scene).ok());
  }
  scene->session.reset();
  EXPECT_TRUE(scene->reader->Commit().ok());
  EXPECT_TRUE(Await([&] { return NothingToPurge(scene); }));
  scene->Begin();
}

Status MakeHoles(FaultScene* scene) {
  return scene->world.engine->impl()
      ->storage->allocator()
      ->GiveBack(kUndoSpace, 0, kExtentsAtOnce)
      .status();
}

// --- tables ---

void PrepareDrop(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(scene->CreateTable("").ok());
  scene->session->Begin(IsolationLevel::kRepeatableRead);
}

bool OnlyTheirFiles(FaultScene* scene) {
  // As housekeeping does once a second, and after many of them what failed.
  scene->world.engine->impl()->storage->files()->RemoveTrash().status().Ignore();
  const std::vector<std::string> names = scene->world.files.List("/rowan").value();
  return std::ranges::none_of(
      names, [&](const std::string& name) { return name.starts_with(scene->NextFile()); });
}

void PrepareTableElsewhere(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(scene->CreateTable(kDirectory).ok());
  scene->made.reset();
  Restart(scene);
}

bool NoFileElsewhere(FaultScene* scene) {
  const auto none = [scene] {
    scene->world.engine->impl()->storage->files()->RemoveTrash().status().Ignore();
    return scene->world.files.List(std::string(kDirectory) + "/test").value().empty();
  };
  if (none()) return true;
  // The engine has tried while the disk was away? Then the next start does.
  Restart(scene);
  return none();
}

Status Load(FaultScene* scene, const std::function<Status(BulkLoad*)>& fill) {
  Result<std::shared_ptr<Table>> created = scene->world.engine->CreateTable(
      scene->session.get(), EngineFixture::ToyDefinition("test/made"), 1);
  if (!created.ok()) return created.status();
  BulkLoad load(scene->session.get(), created->get(), {.sort_memory_bytes = 10'000});
  Status status = fill(&load);
  if (status.ok()) status = load.Finish();
  return status.ok() ? scene->session->Commit() : status;
}

Status LoadRows(FaultScene* scene) {
  return Load(scene, [&](BulkLoad* load) {
    Status status;
    for (auto row = scene->rows.begin(); row != scene->rows.end() && status.ok(); ++row) {
      status = EngineFixture::Load(load, row->first, row->second);
    }
    return status;
  });
}

Status Export(FaultScene* scene) {
  Result<std::unique_ptr<ExportWriter>> writer =
      ExportWriter::Create(&scene->world.files, kExport, {"toy", "toy"});
  Status status = writer.status();
  for (auto row = scene->rows.begin(); row != scene->rows.end() && status.ok(); ++row) {
    const std::string key = ToyKey(row->first);
    const std::string stored = ToyEncode(row->second);
    status = (*writer)->Add({.key = AsBytes(key), .row = AsBytes(stored)});
  }
  return status.ok() ? (*writer)->Finish(0) : status;
}

Status Import(FaultScene* scene) {
  Result<std::unique_ptr<ExportReader>> reader = ExportReader::Open(&scene->world.files, kExport);
  if (!reader.ok()) return reader.status();
  return Load(scene, [&](BulkLoad* load) {
    for (;;) {
      ExportedRow row;
      const Result<bool> more = (*reader)->Next(&row);
      if (!more.ok()) return more.status();
      if (!more.value()) return Status::Ok();
      const Status status = EngineFixture::Load(load, LoadBe64(row.key.data()), ToyDecode(row.row));
      if (!status.ok()) return status;
    }
  });
}

Status BackUp(FaultScene* scene) {
  const std::string folder = "/copy" + std::to_string(++scene->copies);
  Result<std::unique_ptr<Backup>> backup = scene->world.engine->BeginBackup({.folder = folder});
  if (!backup.ok()) return backup.status();
  const Status status = (*backup)->CopyPages([] { return false; });
  return status.ok() ? (*backup)->Finish(kNoLsn) : status;
}

// --- the instance ---

Status Start(FaultScene* scene) { return scene->world.Open(); }

void PrepareCrash(FaultScene* scene) {
  scene->Begin();
  EXPECT_TRUE(ChangeAndCommit(scene).ok());
  scene->Kill();
}

void Begin(FaultScene* scene) { scene->Begin(); }

}  // namespace

const std::vector<FaultWork>& FaultWorks() {
  static const auto& works = *new std::vector<FaultWork>{
      {"change rows", Begin, ChangeAndCommit},
      {"insert many rows", Begin, Grow},
      {"read rows", Restart, [](FaultScene* scene) { return scene->ReadAll(); }},
      {"roll back", PrepareRollback, [](FaultScene* scene) { return scene->session->Rollback(); },
       NoTransactions},
      {"purge", PreparePurge, Purge, NothingToPurge},
      {"change a temporary table", PrepareTemporary, ChangeTemporary},
      {"checkpoint", PrepareCheckpoint, FlushAll},
      {"checkpoint of a row", PrepareCheckpointOfOne, FlushAll},
      {"fill the log", Begin, FillLog},
      {"enlarge the log", Begin, EnlargeLog},
      {"shrink the log", PrepareLargeLog, ShrinkLog},
      {"give back space", PrepareHoles, MakeHoles},
      {"create a table", Begin, [](FaultScene* scene) { return scene->CreateTable(""); }},
      {"create a table elsewhere", Begin,
       [](FaultScene* scene) { return scene->CreateTable(kDirectory); }},
      {"open a table elsewhere", PrepareTableElsewhere,
       [](FaultScene* scene) { return scene->world.engine->OpenTable(scene->made_id).status(); }},
      {"drop a table elsewhere", PrepareTableElsewhere,
       [](FaultScene* scene) { return scene->DropMade(); }, NoFileElsewhere},
      {"drop a table", PrepareDrop, [](FaultScene* scene) { return scene->DropMade(); },
       OnlyTheirFiles},
      {"load a table", Begin, LoadRows},
      {"export a table", Begin, Export},
      {"import a table",
       [](FaultScene* scene) {
         scene->Begin();
         EXPECT_TRUE(Export(scene).ok());
       },
       Import},
      {"back up", Begin, BackUp},
      {"start", [](FaultScene* scene) { scene->Shutdown(); }, Start},
      {"start after a crash", PrepareCrash, Start},
  };
  return works;
}

}  // namespace rowan::faults
