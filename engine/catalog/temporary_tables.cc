// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/temporary_tables.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Only their own session asks for outcomes, and it has seen them end.
constexpr uint64_t kRingEntries = uint64_t{1} << 14;
/// Rows are locked only where a write meets a duplicate.
constexpr uint64_t kLockMemoryBytesMax = uint64_t{16} << 20;

}  // namespace

Status TemporaryTables::Prepare() {
  if (txns() != nullptr) return Status::Ok();
  const MutexLock lock(&prepare_mutex_);
  if (txns() != nullptr) return Status::Ok();
  const Status status = MakeTransactionsLocked();
  if (!status.ok()) {  // a partial undo space would block the next attempt
    undo_.reset();
    allocator_->DropSpace(kTemporaryUndoSpace).Ignore();
  }
  return status;
}

Status TemporaryTables::MakeTransactionsLocked() {
  undo_ = std::make_unique<UndoStreams>(allocator_, kTemporaryUndoSpace);
  const Status status = undo_->Create();
  if (!status.ok()) return status;
  const TxnManagerOptions options{.lock_memory_bytes_max = kLockMemoryBytesMax,
                                  .commit_ring_entries = kRingEntries,
                                  .shutdown_sign = shutdown_sign_};
  txns_ = std::make_unique<TxnManager>(undo_.get(), log_, options, TxnLifetime::kTemporary);
  row_undo_ = std::make_unique<RowUndo>(txns_.get(), this, blobs_, this);
  txns_->SetApplier(row_undo_.get());
  txns_pointer_.store(txns_.get(), std::memory_order_release);
  return status;
}

/// Ids are reused only when all have been used: pages of a dropped space may linger in the buffer
/// pool for a while.
Result<SpaceId> TemporaryTables::TakeSpaceLocked() {
  const SpaceFiles* files = allocator_->pool()->files();
  const SpaceId first{kTemporaryUndoSpace.value() + 1};
  for (uint32_t turn = 0; turn < UINT32_MAX - first.value(); ++turn) {
    const SpaceId space = next_space_;
    next_space_ = space.value() == UINT32_MAX - 1 ? first : SpaceId(space.value() + 1);
    if (!files->IsLive(space)) return space;
  }
  return Status(Code::kBusy, "too many temporary tables");
}

Status TemporaryTables::BuildTrees(TableDef* definition) {
  for (IndexDef& index : definition->indexes) {
    Result<PageNumber> root = Tree::Create(allocator_, definition->space, index.id);
    if (!root.ok()) return root.status();
    index.root = *root;
  }
  return Status::Ok();
}

Result<std::shared_ptr<Table>> TemporaryTables::Create(TableDef definition,
                                                       uint64_t auto_increment) {
  ROWAN_CHECK(!definition.indexes.empty());
  ROWAN_CHECK(definition.indexes[0].clustered);
  Status status = Prepare();
  if (!status.ok()) return status;
  {
    const ExclusiveLock lock(&mutex_);
    Result<SpaceId> space = TakeSpaceLocked();
    if (!space.ok()) return space.status();
    definition.space = *space;
    definition.id = next_table_;
    next_table_ = TableId(next_table_.value() + 1);
    for (IndexDef& index : definition.indexes) {
      index.id = next_index_;
      next_index_ = IndexId(next_index_.value() + 1);
    }
  }
  status = allocator_->CreateSpace(definition.space);
  if (!status.ok()) return status;
  const auto fill = [&]() -> Result<std::shared_ptr<Table>> {
    const Status built = BuildTrees(&definition);
    if (!built.ok()) return built;
    auto made = std::make_shared<Table>(definition, allocator_);
    const Status set = made->SetAutoIncrement(std::max<uint64_t>(auto_increment, 1));
    if (!set.ok()) return set;
    return made;
  };
  Result<std::shared_ptr<Table>> filled = fill();
  if (!filled.ok()) {
    allocator_->DropSpace(definition.space).Ignore();  // the first failure is the one to report
    return filled.status();
  }
  const std::shared_ptr<Table>& table = *filled;
  const ExclusiveLock lock(&mutex_);
  tables_.emplace(table->id(), table);
  for (size_t i = 0; i < table->index_count(); ++i) {
    indexes_.emplace(table->index(i)->id(), table->shared_index(i));
  }
  return table;
}

Status TemporaryTables::Drop(TableId id) {
  std::shared_ptr<Table> table;
  {
    const ExclusiveLock lock(&mutex_);
    const auto found = tables_.find(id);
    if (found == tables_.end()) return Status(Code::kNotFound);
    table = std::move(found->second);
    tables_.erase(found);
    for (size_t i = 0; i < table->index_count(); ++i) {
      table->index(i)->dropped.store(true, std::memory_order_release);
      indexes_.erase(table->index(i)->id());
    }
  }
  table->dropped.store(true, std::memory_order_release);
  return allocator_->DropSpace(table->space());
}

Result<std::shared_ptr<Table>> TemporaryTables::Find(TableId id) const {
  const SharedLock lock(&mutex_);
  const auto found = tables_.find(id);
  if (found == tables_.end()) return Status(Code::kNotFound);
  return found->second;
}

std::vector<std::shared_ptr<Table>> TemporaryTables::All() const {
  const SharedLock lock(&mutex_);
  std::vector<std::shared_ptr<Table>> tables;
  tables.reserve(tables_.size());
  for (const auto& [id, table] : tables_) tables.push_back(table);
  return tables;
}

std::shared_ptr<Index> TemporaryTables::FindIndex(IndexId index) {
  const SharedLock lock(&mutex_);
  const auto found = indexes_.find(index);
  return found == indexes_.end() ? nullptr : found->second;
}

Status TemporaryTables::UndoExtension(Bytes, WorkBudget*) {
  return Status(Code::kCorrupt, "undo of a temporary table holds DDL");
}
Status TemporaryTables::PurgeExtension(Bytes payload, WorkBudget* budget) {
  return UndoExtension(payload, budget);
}

}  // namespace rowan
