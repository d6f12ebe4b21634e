// SPDX-License-Identifier: GPL-2.0-only
#include "engine/table_ddl.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assertions.h"
#include "base/out_of_memory.h"
#include "engine/session.h"
#include "io/placed_file.h"
#include "io/space_files.h"

namespace rowan {
namespace {

/// A table with a directory has its file in a folder of its schema.
std::string FolderFor(const TableDef& definition) {
  const size_t slash = definition.name.find('/');
  const std::string schema =
      slash == std::string::npos ? std::string("rowan") : definition.name.substr(0, slash);
  std::string directory = definition.directory;
  while (directory.ends_with('/')) directory.pop_back();
  return directory + "/" + schema;
}

/// Space file and empty trees of a new table; fills in the roots.
Status BuildFile(PageAllocator* allocator, TableDef* definition) {
  const std::string folder = definition->directory.empty() ? std::string() : FolderFor(*definition);
  const Status status = allocator->CreateSpace(definition->space, folder);
  if (!status.ok()) return status;
  for (IndexDef& index : definition->indexes) {
    Result<PageNumber> root = Tree::Create(allocator, definition->space, index.id);
    if (!root.ok()) return root.status();
    index.root = root.value();
  }
  return Status::Ok();
}

}  // namespace

Result<std::shared_ptr<Table>> TableDdl::Create(Session* session, TableDef definition,
                                                uint64_t auto_increment) {
  ROWAN_CHECK(!definition.indexes.empty());
  ROWAN_CHECK(definition.indexes[0].clustered);
  Status status = ids_->Assign(&definition);
  if (!status.ok()) return status;
  const UndoPosition before = session->Savepoint();
  std::array<std::byte, DdlLog::kPayloadBytes> payload;
  DdlLog::EncodePayload(payload.data(), DdlLog::Kind::kCreated, definition.id, definition.space);
  status = session->LogExtension(payload);
  if (!status.ok()) return status;
  Result<std::shared_ptr<Table>> table =
      OrOutOfMemory([&] { return Make(session, &definition, auto_increment); });
  if (!table.ok()) {
    const Status undone = session->RollbackTo(before);
    return undone.ok() ? table.status() : undone;
  }
  return table;
}

Result<std::shared_ptr<Table>> TableDdl::Make(Session* session, TableDef* definition,
                                              uint64_t auto_increment) {
  Status status = BuildFile(allocator_, definition);
  if (!status.ok()) return status;
  status = catalog_->InsertRows(session->writer(), session->txn(), *definition);
  if (!status.ok()) return status;
  auto table = std::make_shared<Table>(*definition, allocator_);
  ROWAN_DCHECK(session->txn()->is_writer());
  table->SetCreatedBy(session->txn()->txn_id());
  status = table->SetAutoIncrement(std::max<uint64_t>(auto_increment, 1));
  if (!status.ok()) return status;
  catalog_->Add(table);
  return table;
}

Status TableDdl::Drop(Session* session, TableId table) {
  Result<TableDef> definition = catalog_->Definition(table);
  if (!definition.ok()) return definition.status();
  std::array<std::byte, DdlLog::kPayloadBytes> payload;
  DdlLog::EncodePayload(payload.data(), DdlLog::Kind::kDropped, table, definition->space);
  Status status = session->LogExtension(payload);
  if (!status.ok()) return status;
  status = catalog_->DeleteRows(session->writer(), session->txn(), table);
  if (!status.ok()) return status;
  status = catalog_->DeleteStatistics(session->writer(), session->txn(), table);
  if (!status.ok()) return status;
  ROWAN_DCHECK(session->txn()->is_writer());
  log_->NoteDrop(session->txn(), table, definition->space);
  return Status::Ok();
}

Status TableDdl::Rename(Session* session, TableId table, const std::string& new_name) {
  Result<TableDef> definition = catalog_->Definition(table);
  if (!definition.ok()) return definition.status();
  const std::string old_name = definition->name;
  definition->name = new_name;
  const std::string payload = DdlLog::EncodeRename(table, old_name);
  Status status = session->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  status = catalog_->UpdateName(session->writer(), session->txn(), *definition);
  if (!status.ok()) return status;
  return catalog_->Rename(table, new_name);
}

Status TableDdl::CreateIndex(Session* session, const Table& table, IndexId* index,
                             PageNumber* root) {
  Result<IndexId> id = ids_->NewIndex();
  if (!id.ok()) return id.status();
  const std::string payload =
      DdlLog::EncodeIndex(DdlLog::Kind::kIndexCreated, {table.id(), table.space(), *id, kNoPage});
  const Status status = session->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  Result<PageNumber> made = Tree::Create(allocator_, table.space(), *id);
  if (!made.ok()) return made.status();
  *index = *id;
  *root = *made;
  return Status::Ok();
}

Result<std::string> TableDdl::DirectoryOf(TableId table) const {
  const Result<TableDef> definition = catalog_->Definition(table);
  if (!definition.ok()) return definition.status();
  const SpaceFiles* files = allocator_->pool()->files();
  const SpaceId space = definition.value().space;
  const std::string place = files->PlaceOf(space);
  if (place == files->PathOf(space)) return std::string();
  return FolderOf(FolderOf(place));  // see FolderFor
}

Result<std::shared_ptr<Table>> TableDdl::Alter(Session* session, TableDef changed) {
  Result<TableDef> former = catalog_->Definition(changed.id);
  if (!former.ok()) return former.status();
  changed.name = former->name;
  changed.space = former->space;
  const UndoPosition before = session->Savepoint();
  Result<std::shared_ptr<Table>> altered =
      OrOutOfMemory([&] { return LogAndAlter(session, *former, std::move(changed)); });
  if (altered.ok()) return altered;
  const Status undone = session->RollbackTo(before);
  return undone.ok() ? altered.status() : undone;
}

Result<std::shared_ptr<Table>> TableDdl::LogAndAlter(Session* session, const TableDef& former,
                                                     TableDef changed) {
  for (const IndexDef& index : former.indexes) {
    const auto same = [&index](const IndexDef& other) { return other.id == index.id; };
    if (std::any_of(changed.indexes.begin(), changed.indexes.end(), same)) continue;
    const DdlLog::IndexTree dropped{former.id, former.space, index.id, index.root};
    const std::string payload = DdlLog::EncodeIndex(DdlLog::Kind::kIndexDropped, dropped);
    const Status status = session->LogExtension(AsBytes(payload));
    if (!status.ok()) return status;
    log_->NoteIndexDrop(session->txn(), dropped);
  }
  const std::string payload = DdlLog::EncodeAlter(former.id);
  const Status status = session->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  ROWAN_DCHECK(session->txn()->is_writer());
  log_->NoteAlter(session->txn(), former.id);
  return catalog_->Alter(session->writer(), session->txn(), std::move(changed));
}

}  // namespace rowan
