// SPDX-License-Identifier: GPL-2.0-only
// Versions of definitions in memory, made by ALTER. The server's metadata locks keep others away
// until the transaction has ended; rollback and purge may meet indexes of both versions until then.
#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/catalog_rows.h"

namespace rowan {

Result<std::shared_ptr<Table>> Catalog::Alter(RowWriter* writer, Txn* txn, TableDef changed) {
  const TableId id = changed.id;
  Result<std::shared_ptr<Table>> open = Open(id);
  if (!open.ok()) return open.status();
  const uint32_t rows_before = RowsOf(id);
  const std::vector<std::string> rows = EncodeCatalogRows(changed, page_size_bytes());
  const auto rows_now = static_cast<uint32_t>(rows.size());
  auto table = std::make_shared<Table>(changed, allocator_, **open);
  for (size_t i = 0; i < table->index_count(); ++i) {
    if ((*open)->FindIndex(table->index(i)->id()) != nullptr) continue;
    table->SetIndexCreatedBy(i, txn->txn_id());
  }
  for (size_t i = 0; i < (*open)->index_count(); ++i) {
    if (table->FindIndex((*open)->index(i)->id()) != nullptr) continue;
    table->SetIndexDroppedBy(txn->txn_id());
  }
  {
    const ExclusiveLock lock(&mutex_);
    Entry& entry = tables_[id];
    ROWAN_DCHECK(entry.prepared_by == kNoTxn);
    entry.former.push_back(entry);
    ReplaceLocked(&entry, {std::move(changed), rows_now, table});
  }
  for (uint32_t piece = std::max(rows_now, rows_before); piece-- > 0;) {
    const std::string key = CatalogKey(id, piece);
    Status status;
    if (piece >= rows_now) {
      status = writer->DeleteRow(txn, rows_.get(), AsBytes(key));
    } else if (piece < rows_before) {
      status = writer->UpdateRow(txn, rows_.get(), AsBytes(key), AsBytes(rows[piece]));
    } else {
      status = writer->InsertRow(txn, rows_.get(), AsBytes(key), AsBytes(rows[piece]));
    }
    if (!status.ok()) return status;
  }
  return table;
}

void Catalog::ReplaceLocked(Entry* entry, Version version) {
  for (const IndexDef& index : version.definition.indexes) {
    indexes_[index.id] = version.definition.id;
  }
  ROWAN_DCHECK(version.table == nullptr || version.table->id() == version.definition.id);
  static_cast<Version&>(*entry) = std::move(version);
}

void Catalog::UndoAlter(TableId table) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  Entry& entry = found->second;
  entry.prepared_by = kNoTxn;
  if (entry.former.empty()) return;
  const Version undone = entry;
  ReplaceLocked(&entry, std::move(entry.former.back()));
  entry.former.pop_back();
  ForgetIndexesLocked(undone, entry);
}

void Catalog::SettleAlter(TableId table) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found == tables_.end()) return;
  for (const Version& former : std::exchange(found->second.former, {})) {
    ForgetIndexesLocked(former, found->second);
  }
}

void Catalog::SettlePrepared(TxnId txn) {
  // Most have none, and then disturb no other.
  const std::vector<TableId> altered = ChangesBy(txn).altered;
  if (altered.empty()) return;
  const ExclusiveLock lock(&mutex_);
  for (const TableId table : altered) {
    const auto found = tables_.find(table);
    if (found == tables_.end() || found->second.prepared_by != txn) continue;
    Entry& entry = found->second;
    entry.prepared_by = kNoTxn;
    const Version former = entry;
    Version now = std::move(entry.prepared);
    if (former.table != nullptr) {
      now.table = std::make_shared<Table>(now.definition, allocator_, *former.table);
    }
    ReplaceLocked(&entry, std::move(now));
    ForgetIndexesLocked(former, entry);
  }
}

void Catalog::ForgetIndexesLocked(const Version& former, const Entry& entry) {
  for (const IndexDef& index : former.definition.indexes) {
    const auto is_index = [&index](const IndexDef& other) { return other.id == index.id; };
    const auto has = [&is_index](const Version& version) {
      const std::vector<IndexDef>& all = version.definition.indexes;
      return std::any_of(all.begin(), all.end(), is_index);
    };
    if (has(entry) || std::any_of(entry.former.begin(), entry.former.end(), has)) continue;
    indexes_.erase(index.id);
    if (former.table == nullptr) continue;
    std::shared_ptr<Index> leaving = former.table->FindIndex(index.id);
    ROWAN_DCHECK(leaving != nullptr);
    leaving->dropped.store(true, std::memory_order_release);
    leaving_[index.id] = std::move(leaving);
  }
}

bool Catalog::ReleaseIndex(IndexId index) {
  const ExclusiveLock lock(&mutex_);
  if (indexes_.contains(index)) return false;
  const auto found = leaving_.find(index);
  if (found == leaving_.end()) return true;
  if (found->second.use_count() > 1) return false;
  leaving_.erase(found);
  return true;
}

}  // namespace rowan
