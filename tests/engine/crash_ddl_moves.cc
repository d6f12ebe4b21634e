// SPDX-License-Identifier: GPL-2.0-only
// The moves of CrashDdl that only some programs make: tables made anew while they are written, and
// tables that go through an exported file.
#include <thread>

#include "engine/export_file.h"
#include "tests/engine/crash_ddl.h"
#include "tests/engine/toy_conversion.h"

namespace rowan {
namespace {

constexpr uint64_t kWritersMax = 4;    // one after the other
constexpr uint32_t kChangedOneIn = 4;  // of the rows
constexpr size_t kLeastMemoryBytes = 1;

std::string ExportPath(const EngineFixture& world) {
  return world.options.storage.folder + "/export.rwx";
}

}  // namespace

Status CrashDdl::RebuildOnline(CrashContext* context, Session* session) {
  const std::string name = AnyTable();
  EngineFixture* const world = context->world();
  Result<TableId> id = Find(world, name);
  if (!id.ok()) return id.status();
  Result<std::shared_ptr<Table>> table = world->engine->OpenTable(*id);
  if (!table.ok()) return table.status();
  StoredRow record;
  const ToyBlobCodec codec;
  ToyConversion conversion(session, &record, TableRebuild::Keys::kSame);
  TableRebuild rebuild(session, *table, {&codec, nullptr, &record}, &conversion,
                       TableRebuild::Keys::kSame, {kLeastMemoryBytes});
  Status status = rebuild.Start(Definition(name));
  if (!status.ok()) return status;
  Status written;
  // The rebuild asks nothing of this object: the other thread has it alone.
  std::thread writer([&] {
    for (uint64_t turns = random_.Below(kWritersMax); turns > 0 && written.ok(); --turns) {
      written = WriteMeanwhile(context, name, *id);
    }
  });
  status = rebuild.Build();
  writer.join();
  if (status.ok()) status = written;
  if (status.ok() && random_.OneIn(2)) status = WriteMeanwhile(context, name, *id);
  if (!status.ok()) return status;
  return rebuild.Finish(0);
}

Status CrashDdl::Change(EngineFixture* world, Session* session, TableId id, ToyRows* rows) {
  Result<std::shared_ptr<Table>> table = world->engine->OpenTable(id);
  Status status = table.status();
  for (auto row = rows->begin(); row != rows->end() && status.ok();) {
    const auto next = std::next(row);
    if (random_.OneIn(kChangedOneIn)) {
      if (random_.OneIn(3)) {
        status = EngineFixture::Delete(session, table->get(), row->first, row->second);
        if (status.ok()) rows->erase(row);
      } else {
        const ToyRow after = AnyRow(row->first);
        status = EngineFixture::Update(session, table->get(), row->first, row->second, after);
        if (status.ok()) row->second = after;
      }
    }
    row = next;
  }
  return status;
}

Status CrashDdl::Transport(EngineFixture* world, Session* session, TableId old,
                           const std::string& name) {
  Result<std::shared_ptr<Table>> from = world->engine->OpenTable(old);
  if (!from.ok()) return from.status();
  Status status = Export(world, session, from->get());
  if (!status.ok()) return status;
  Result<std::shared_ptr<Table>> table = world->engine->CreateTable(session, Definition(name), 1);
  if (!table.ok()) return table.status();
  status = Import(world, session, table->get());
  from->reset();
  if (status.ok()) status = Drop(world, session, old);
  // Nothing depends on it: the next export takes its place.
  if (status.ok()) ExportWriter::Remove(world->engine->file_system(), ExportPath(*world)).Ignore();
  return status;
}

Status CrashDdl::Export(EngineFixture* world, Session* session, Table* table) {
  Result<std::unique_ptr<ExportWriter>> writer =
      ExportWriter::Create(world->engine->file_system(), ExportPath(*world), {"toy", "toy"});
  if (!writer.ok()) return writer.status();
  TableCursor cursor(session, table, &ToyCodec());
  cursor.OpenScan(0);
  StoredRow stored;
  Status status = cursor.SeekFirst(&stored);
  for (; status.ok(); status = cursor.Next(&stored)) {
    const Status added = (*writer)->Add({.key = stored.key, .row = stored.value});
    if (!added.ok()) return added;
  }
  cursor.CloseScan();
  return status.Is(Code::kEndOfRange) ? (*writer)->Finish(0) : status;
}

Status CrashDdl::Import(EngineFixture* world, Session* session, Table* table) {
  Result<std::unique_ptr<ExportReader>> reader =
      ExportReader::Open(world->engine->file_system(), ExportPath(*world));
  if (!reader.ok()) return reader.status();
  BulkLoad load(session, table, {kLeastMemoryBytes});
  for (;;) {
    ExportedRow row;
    const Result<bool> more = (*reader)->Next(&row);
    if (!more.ok()) return more.status();
    if (!more.value()) return load.Finish();
    const Status status = EngineFixture::Load(&load, LoadBe64(row.key.data()), ToyDecode(row.row));
    if (!status.ok()) return status;
  }
}

void CrashDdl::CheckExport(EngineFixture* world) {
  Result<std::unique_ptr<ExportReader>> reader =
      ExportReader::Open(world->engine->file_system(), ExportPath(*world));
  if (reader.status().Is(Code::kNotFound)) return;
  ASSERT_TRUE(reader.ok()) << reader.status().message();
  ExportedRow row;
  Result<bool> more = true;
  while (more.ok() && more.value()) more = (*reader)->Next(&row);
  EXPECT_TRUE(more.ok()) << "of an exported file: " << more.status().message();
}

}  // namespace rowan
