// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/catalog.h"

#include <cerrno>
#include <utility>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/format.h"
#include "base/logging.h"
#include "btree/cursor.h"
#include "engine/catalog/catalog_rows.h"
#include "engine/catalog/statistics_row.h"

namespace rowan {
namespace {

/// Strays deleted at once.
constexpr size_t kStraysAtOnce = 100;

/// Purge keeps retrying; logging it once in this time is enough.
constexpr uint64_t kComplaintNanos = 1'000'000'000;

Status LacksChanges() {
  return Status(Code::kCorrupt, "it lacks changes that the redo log had, and can be dropped");
}

}  // namespace

Catalog::Catalog(PageAllocator* allocator, PageNumber root, DamagedSpaces* damaged)
    : allocator_(allocator),
      damaged_(damaged),
      rows_(std::make_shared<Index>(allocator, kSystemSpace, root, kCatalogIndex, kCatalogTable,
                                    true)) {}

uint32_t Catalog::RowsOf(TableId table) const {
  const SharedLock lock(&mutex_);
  const auto found = tables_.find(table);
  return found == tables_.end() ? 1 : found->second.rows;
}

Status Catalog::InsertRows(RowWriter* writer, Txn* txn, const TableDef& definition) {
  const std::vector<std::string> rows = EncodeCatalogRows(definition, page_size_bytes());
  for (auto piece = static_cast<uint32_t>(rows.size()); piece-- > 0;) {
    const std::string key = CatalogKey(definition.id, piece);
    const Status status = writer->InsertRow(txn, rows_.get(), AsBytes(key), AsBytes(rows[piece]));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status Catalog::UpdateName(RowWriter* writer, Txn* txn, const TableDef& definition) {
  const std::string key = CatalogKey(definition.id, 0);
  const std::string row =
      EncodeFirstCatalogRow(definition, page_size_bytes(), RowsOf(definition.id));
  return writer->UpdateRow(txn, rows_.get(), AsBytes(key), AsBytes(row));
}

Status Catalog::DeleteRows(RowWriter* writer, Txn* txn, TableId table) {
  const uint32_t rows = RowsOf(table);
  for (uint32_t piece = 0; piece < rows; ++piece) {
    const std::string key = CatalogKey(table, piece);
    const Status status = writer->DeleteRow(txn, rows_.get(), AsBytes(key));
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status Catalog::WriteStatistics(RowWriter* writer, Txn* txn, TableId table,
                                const std::string& row) {
  const Status status = writer->UpdateRow(txn, rows_.get(), StatisticsKeyOf(table), AsBytes(row));
  if (!status.Is(Code::kNotFound)) return status;
  return writer->InsertRow(txn, rows_.get(), StatisticsKeyOf(table), AsBytes(row));
}

Status Catalog::DeleteStatistics(RowWriter* writer, Txn* txn, TableId table) {
  const Status status = writer->DeleteRow(txn, rows_.get(), StatisticsKeyOf(table));
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

void Catalog::RemoveStrayStatistics(TxnManager* txns) {
  if (!strays_left_.load(std::memory_order_relaxed)) return;
  std::vector<TableId> strays;
  {
    const SharedLock lock(&mutex_);
    for (const auto& [table, row] : statistics_) {
      if (!tables_.contains(table) && strays.size() < kStraysAtOnce) strays.push_back(table);
    }
  }
  strays_left_.store(!strays.empty(), std::memory_order_relaxed);
  RowWriter writer(txns);
  for (const TableId table : strays) {
    Txn txn;
    txn.state = TxnState::kActive;
    txn.locks.wait_timeout_s = 0;
    // Prevented now: the next start tries again.
    if (!DeleteStatistics(&writer, &txn, table).ok() ||
        !txns->Commit(&txn, Durability::kBackground, false).ok()) {
      txns->Rollback(&txn).Ignore();
    }
    const ExclusiveLock lock(&mutex_);
    statistics_.erase(table);
  }
}

void Catalog::Add(const std::shared_ptr<Table>& table) {
  const TableDef& definition = table->definition();
  const auto rows = static_cast<uint32_t>(EncodeCatalogRows(definition, page_size_bytes()).size());
  const ExclusiveLock lock(&mutex_);
  for (const IndexDef& index : definition.indexes) indexes_[index.id] = definition.id;
  ROWAN_DCHECK(rows != 0 && !definition.indexes.empty());
  tables_[definition.id] = Entry{{definition, rows, table}};
}

bool Catalog::Remove(TableId table) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return false;
  Entry& entry = found->second;
  for (const Version& former : entry.former) ForgetLocked(former);
  ForgetLocked(entry);
  tables_.erase(found);
  statistics_.erase(table);
  return true;
}

void Catalog::ForgetLocked(const Version& version) {
  ROWAN_DCHECK(version.rows != 0);
  for (const IndexDef& index : version.definition.indexes) indexes_.erase(index.id);
  if (version.table == nullptr) return;
  version.table->dropped.store(true, std::memory_order_release);
  MarkDropped(*version.table);
}

void Catalog::MarkDropped(const Table& table) {
  for (size_t i = 0; i < table.index_count(); ++i) {
    table.index(i)->dropped.store(true, std::memory_order_release);
  }
}

Status Catalog::Rename(TableId table, const std::string& name) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return Status(Code::kNotFound, "no such table in the catalog");
  found->second.definition.name = name;
  if (found->second.table) found->second.table->SetName(name);
  return Status::Ok();
}

void Catalog::NoteDamage(SpaceId space) {
  const ExclusiveLock lock(&mutex_);
  for (auto& [id, entry] : tables_) {
    if (entry.definition.space != space) continue;
    LogError(
        "Table '{}' is damaged, '{}' says why. It can only be dropped; the other tables are "
        "served.",
        entry.definition.name, damaged_->PathOf(space));
    if (const std::shared_ptr<Table>& open = entry.table) {
      open->damaged.store(true, std::memory_order_release);
      // For rollback and purge; it can no longer be read or changed.
      MarkDropped(*open);
    }
    return;
  }
  damaged_->Forget(space);
}

void Catalog::NoteWaiting(SpaceId space) {
  const SharedLock lock(&mutex_);
  const TableDef* definition = DefinitionLocked(space, kNoIndex);
  if (definition == nullptr) {
    damaged_->Forget(space);
    return;
  }
  LogWarning(
      "Changes of table '{}' in the redo log wait until its file '{}' can be read. Nothing of it "
      "is lost; statements that need them fail until then.",
      definition->name, allocator_->pool()->files()->PlaceOf(space));
}

Result<TableDef> Catalog::Definition(TableId table) const {
  const SharedLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return Status(Code::kNotFound, "no such table in the catalog");
  return found->second.definition;
}

Result<std::shared_ptr<Table>> Catalog::Open(TableId table) {
  TableDef definition;
  {
    const SharedLock lock(&mutex_);
    const auto found = tables_.find(table);
    if (found == tables_.end()) return Status(Code::kNotFound, "no such table in the catalog");
    if (damaged_->Contains(found->second.definition.space)) return LacksChanges();
    if (found->second.table) return found->second.table;
    definition = found->second.definition;
  }
  // Opened without the mutex (it reads pages); of two openers the first to publish wins.
  Status status = allocator_->OpenSpace(definition.space);
  if (!status.ok()) {
    if (MayComplain(table)) {
      LogError("Table '{}' cannot be opened: its file '{}' is {} ({}).", definition.name,
               allocator_->pool()->files()->PlaceOf(definition.space), CodeName(status.code()),
               status.message());
    }
    // Not "no such table": the catalog has it.
    return status.Is(Code::kNotFound) ? Status(Code::kIoError, "its file is missing", ENOENT)
                                      : status;
  }
  auto opened = std::make_shared<Table>(definition, allocator_);
  status = opened->LoadCounters();
  if (!status.ok()) return status;
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return Status(Code::kNotFound, "table was dropped meanwhile");
  if (damaged_->Contains(definition.space)) return LacksChanges();
  if (!found->second.table) {
    // A rename, or its undoing, happened in between.
    if (found->second.definition.name != definition.name) {
      opened->SetName(found->second.definition.name);
    }
    if (const auto kept = statistics_.find(table); kept != statistics_.end()) {
      // Unreadable ones, or those of a since changed table, are counted again.
      Result<StoredStatistics> stored = DecodeStatistics(AsBytes(kept->second));
      if (stored.ok()) std::move(stored).value().PublishIn(opened.get());
      if (statistics_are_late_) opened->ExpectChanges();
      statistics_.erase(kept);
    }
    found->second.table = std::move(opened);
  }
  return found->second.table;
}

bool Catalog::WasDropped(SpaceId space) const {
  const SharedLock lock(&mutex_);
  return dropped_spaces_.contains(space);
}

bool Catalog::MayComplain(TableId table) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  const uint64_t now = MonotonicNanos();
  if (found == tables_.end() || now < found->second.silent_until_nanos) return false;
  found->second.silent_until_nanos = now + kComplaintNanos;
  return true;
}

std::vector<TableDef> Catalog::Definitions() const {
  const SharedLock lock(&mutex_);
  std::vector<TableDef> definitions;
  definitions.reserve(tables_.size());
  for (const auto& [id, entry] : tables_) definitions.push_back(entry.definition);
  return definitions;
}

std::vector<std::shared_ptr<Table>> Catalog::OpenTables() const {
  const SharedLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> tables;
  for (const auto& [id, entry] : tables_) {
    if (entry.table) tables.push_back(entry.table);
  }
  return tables;
}

std::shared_ptr<Index> Catalog::FindIndex(IndexId index) {
  if (index == kCatalogIndex) return rows_;
  TableId id;
  {
    const SharedLock lock(&mutex_);
    const auto found = indexes_.find(index);
    if (found == indexes_.end()) return nullptr;
    id = found->second;
  }
  Result<std::shared_ptr<Table>> table = Open(id);
  if (!table.ok()) return nullptr;
  if (std::shared_ptr<Index> present = (*table)->FindIndex(index)) return present;
  // An index that an ALTER drops, until that is committed.
  const SharedLock lock(&mutex_);
  const auto found = tables_.find(id);
  if (found == tables_.end()) return nullptr;
  for (const Version& former : found->second.former) {
    if (former.table == nullptr) continue;
    if (std::shared_ptr<Index> leaving = former.table->FindIndex(index)) return leaving;
  }
  return nullptr;
}

Status Catalog::OpenFailure(IndexId index) {
  TableId id;
  {
    const SharedLock lock(&mutex_);
    const auto found = indexes_.find(index);
    if (found == indexes_.end()) return Status::Ok();
    id = found->second;
  }
  const Status status = Open(id).status();
  // A failed opening: "its file is missing". A table dropped meanwhile has no index left.
  if (status.Is(Code::kIoError) && status.detail() == ENOENT && !Waits(id)) {
    return Status(Code::kNotFound);
  }
  return status.Is(Code::kNotFound) ? Status::Ok() : status;
}

bool Catalog::Waits(TableId table) const {
  const SharedLock lock(&mutex_);
  const auto found = tables_.find(table);
  return found != tables_.end() && damaged_->Waits(found->second.definition.space);
}

bool Catalog::IndexExists(IndexId index) {
  const SharedLock lock(&mutex_);
  const auto found = indexes_.find(index);
  if (found == indexes_.end()) return false;
  const auto table = tables_.find(found->second);
  return table == tables_.end() || !damaged_->Contains(table->second.definition.space);
}

}  // namespace rowan
