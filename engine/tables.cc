// SPDX-License-Identifier: GPL-2.0-only
// DDL on tables: create, drop, rename, open. See engine/ddl.h for what is undone and when.
#include <algorithm>
#include <array>

#include "base/logging.h"
#include "engine/engine_impl.h"

namespace rowan {

Status Engine::Impl::ReserveIdsLocked(uint32_t indexes) {
  if (next_space + 1 <= space_mark && next_table + 1 <= table_mark &&
      next_index + indexes <= index_mark) {
    return Status::Ok();
  }
  const uint32_t space_wanted = next_space + kIdChunk;
  const uint64_t table_wanted = next_table + kIdChunk;
  const uint64_t index_wanted = next_index + std::max(uint64_t{kIdChunk} * 4, uint64_t{indexes});
  const Status status = ReserveInControlFile([=](ControlData& data) {
    data.next_space_id = SpaceId(space_wanted);
    data.next_table_id = TableId(table_wanted);
    data.next_index_id = IndexId(index_wanted);
  });
  if (!status.ok()) return status;
  space_mark = space_wanted;
  table_mark = table_wanted;
  index_mark = index_wanted;
  return status;
}

namespace {

/// Space file and empty trees of a new table; fills in the roots.
Status BuildFile(PageAllocator* allocator, TableDef* definition) {
  const Status status = allocator->CreateSpace(definition->space);
  if (!status.ok()) return status;
  for (IndexDef& index : definition->indexes) {
    Result<PageNumber> root = Tree::Create(allocator, definition->space, index.id);
    if (!root.ok()) return root.status();
    index.root = root.value();
  }
  return Status::Ok();
}

}  // namespace

Result<std::shared_ptr<Table>> Engine::CreateTable(Session* session, TableDef definition,
                                                   uint64_t auto_increment) {
  ROWAN_CHECK(!definition.indexes.empty());
  ROWAN_CHECK(definition.indexes[0].clustered);
  {
    const MutexLock lock(&impl_->id_mutex);
    const auto count = static_cast<uint32_t>(definition.indexes.size());
    const Status reserved = impl_->ReserveIdsLocked(count);
    if (!reserved.ok()) return reserved;
    definition.space = SpaceId(impl_->next_space++);
    definition.id = TableId(impl_->next_table++);
    for (IndexDef& index : definition.indexes) index.id = IndexId(impl_->next_index++);
  }
  const UndoPosition before = session->Savepoint();
  std::array<std::byte, DdlLog::kPayloadBytes> payload;
  DdlLog::EncodePayload(payload.data(), DdlLog::Kind::kCreated, definition.id, definition.space);
  Status status = session->LogExtension(payload);
  if (!status.ok()) return status;
  Result<std::shared_ptr<Table>> table = impl_->Make(session, &definition, auto_increment);
  if (!table.ok()) {
    const Status undone = session->RollbackTo(before);
    return undone.ok() ? table.status() : undone;
  }
  impl_->catalog->Add(*table);
  return table;
}

Result<std::shared_ptr<Table>> Engine::Impl::Make(Session* session, TableDef* definition,
                                                  uint64_t auto_increment) {
  Status status = BuildFile(storage->allocator(), definition);
  if (!status.ok()) return status;
  status = catalog->InsertRows(session->writer(), session->txn(), *definition);
  if (!status.ok()) return status;
  auto table = std::make_shared<Table>(*definition, storage->allocator());
  table->SetCreatedBy(session->txn()->txn_id());
  status = table->SetAutoIncrement(std::max<uint64_t>(auto_increment, 1));
  if (!status.ok()) return status;
  return table;
}

Status Engine::DropTable(Session* session, TableId table) {
  Result<TableDef> definition = impl_->catalog->Definition(table);
  if (!definition.ok()) return definition.status();
  std::array<std::byte, DdlLog::kPayloadBytes> payload;
  DdlLog::EncodePayload(payload.data(), DdlLog::Kind::kDropped, table, definition->space);
  Status status = session->LogExtension(payload);
  if (!status.ok()) return status;
  status = impl_->catalog->DeleteRows(session->writer(), session->txn(), table);
  if (!status.ok()) return status;
  status = impl_->catalog->DeleteStatistics(session->writer(), session->txn(), table);
  if (!status.ok()) return status;
  impl_->ddl->NoteDrop(session->txn(), table, definition->space);
  return Status::Ok();
}

Status Engine::RenameTable(Session* session, TableId table, const std::string& new_name) {
  Result<TableDef> definition = impl_->catalog->Definition(table);
  if (!definition.ok()) return definition.status();
  const std::string old_name = definition->name;
  definition->name = new_name;
  const std::string payload = DdlLog::EncodeRename(table, old_name);
  Status status = session->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  status = impl_->catalog->UpdateName(session->writer(), session->txn(), *definition);
  if (!status.ok()) return status;
  return impl_->catalog->Rename(table, new_name);
}

Result<std::shared_ptr<Table>> Engine::AlterTable(Session* session, TableDef changed) {
  Result<TableDef> former = impl_->catalog->Definition(changed.id);
  if (!former.ok()) return former.status();
  changed.name = former->name;
  changed.space = former->space;
  const UndoPosition before = session->Savepoint();
  Result<std::shared_ptr<Table>> altered = impl_->Alter(session, *former, std::move(changed));
  if (altered.ok()) return altered;
  const Status undone = session->RollbackTo(before);
  return undone.ok() ? altered.status() : undone;
}

Result<std::shared_ptr<Table>> Engine::Impl::Alter(Session* session, const TableDef& former,
                                                   TableDef changed) {
  for (const IndexDef& index : former.indexes) {
    const auto same = [&index](const IndexDef& other) { return other.id == index.id; };
    if (std::any_of(changed.indexes.begin(), changed.indexes.end(), same)) continue;
    const DdlLog::Index dropped{former.id, former.space, index.id, index.root};
    const std::string payload = DdlLog::EncodeIndex(DdlLog::Kind::kIndexDropped, dropped);
    const Status status = session->LogExtension(AsBytes(payload));
    if (!status.ok()) return status;
    ddl->NoteIndexDrop(session->txn(), dropped);
  }
  const std::string payload = DdlLog::EncodeAlter(former.id);
  const Status status = session->LogExtension(AsBytes(payload));
  if (!status.ok()) return status;
  ddl->NoteAlter(session->txn(), former.id);
  return catalog->Alter(session->writer(), session->txn(), std::move(changed));
}

Result<std::shared_ptr<Table>> Engine::OpenTable(TableId table) {
  return IsTemporary(table) ? impl_->temporary->Find(table) : impl_->catalog->Open(table);
}

Result<std::shared_ptr<Table>> Engine::CreateTemporaryTable(TableDef definition,
                                                            uint64_t auto_increment) {
  return impl_->temporary->Create(std::move(definition), auto_increment);
}

Status Engine::DropTemporaryTable(TableId table) { return impl_->temporary->Drop(table); }

std::vector<TableDef> Engine::ListTables() { return impl_->catalog->Definitions(); }

Status Engine::RemoveOrphanFiles() { return impl_->orphans->NoteCoordinatorDone(); }

bool Engine::orphans_pending() const { return impl_->orphans->pending(); }

Status Engine::Impl::PersistCounters() {
  for (const std::shared_ptr<Table>& table : catalog->OpenTables()) {
    if (table->damaged.load(std::memory_order_acquire)) continue;
    const Status status = table->PersistAutoIncrement();
    if (!status.ok() && !status.Is(Code::kNotFound)) return status;
    if (table->changes_since_refresh() != 0) KeepStatistics(table.get());
  }
  return Status::Ok();
}

}  // namespace rowan
