// SPDX-License-Identifier: GPL-2.0-only
// The catalog as operators see it: opens no files, and holds the mutex for one table at a time.
#include <algorithm>
#include <utility>

#include "base/last_owner.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/statistics_row.h"

namespace rowan {
namespace {

void AddDefinition(const TableDef& definition, TableFigures* figures) {
  figures->id = definition.id;
  figures->space = definition.space;
  figures->name = definition.name;
  for (const IndexDef& index : definition.indexes) {
    figures->indexes.push_back({.id = index.id,
                                .name = index.name,
                                .clustered = index.clustered,
                                .unique = index.unique,
                                .root = index.root,
                                .tree = {},
                                .visibility = {},
                                .inserts = {},
                                .rows_per_key = {}});
  }
}

void AddCounted(const Cardinalities::RowsPerKey& rows_per_key,
                const std::vector<TreeStatistics>& trees, TableFigures* figures) {
  for (size_t i = 0; i < figures->indexes.size(); ++i) {
    if (i < trees.size()) figures->indexes[i].tree = trees[i];
    if (i < rows_per_key.size()) figures->indexes[i].rows_per_key = rows_per_key[i];
  }
}

void AddOpen(Table* table, TxnId visible_to_all, TableFigures* figures) {
  figures->open = true;
  figures->statistics = table->statistics();
  figures->changes = table->changes_since_refresh();
  figures->auto_increment = table->auto_increment();
  figures->update_time = table->update_time();
  Cardinalities* cardinalities = table->cardinalities();
  const std::vector<TreeStatistics> trees = cardinalities->Trees();
  figures->counted = cardinalities->version() > 0 || !trees.empty();
  AddCounted(cardinalities->All(), trees, figures);
  for (IndexFigures& index : figures->indexes) {
    const std::shared_ptr<Index> open = table->FindIndex(index.id);
    if (open == nullptr) continue;
    index.visibility = open->tree.leaf_map().Summarize(visible_to_all);
    index.inserts = open->tree.insert_counts();
  }
}

void AddStored(const std::string& row, TableFigures* figures) {
  Result<StoredStatistics> stored = DecodeStatistics(AsBytes(row));
  if (!stored.ok() || stored->rows_per_key.size() != figures->indexes.size()) return;
  figures->counted = true;
  figures->statistics = stored->table;
  AddCounted(stored->rows_per_key, stored->trees, figures);
}

}  // namespace

std::vector<TableId> Catalog::ListTableIds() const {
  std::vector<TableId> ids;
  {
    const SharedLock lock(&mutex_);
    ids.reserve(tables_.size());
    for (const auto& [id, entry] : tables_) ids.push_back(id);
  }
  std::sort(ids.begin(), ids.end());
  return ids;
}

void Catalog::NoteOnTable(TableId table, uint64_t note) {
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(table);
  if (found != tables_.end()) found->second.note = note;
}

Result<TableFigures> Catalog::FiguresOf(TableId table, TxnId visible_to_all) const {
  TableFigures figures;
  std::shared_ptr<Table> open;
  std::string stored;
  {
    const SharedLock lock(&mutex_);
    const auto found = tables_.find(table);
    if (found == tables_.end()) return Status(Code::kNotFound, "no such table in the catalog");
    AddDefinition(found->second.definition, &figures);
    open = found->second.table;
    figures.note = found->second.note;
    if (const auto kept = statistics_.find(table); kept != statistics_.end()) stored = kept->second;
  }
  if (open != nullptr) {
    AddOpen(open.get(), visible_to_all, &figures);
  } else if (!stored.empty()) {
    AddStored(stored, &figures);
  }
  return figures;
}

void Catalog::ForgetUnusedLeafMaps() {
  std::vector<TableId> unused;
  {
    const SharedLock lock(&mutex_);
    for (const auto& [id, entry] : tables_) {
      if (entry.table.use_count() == 1) unused.push_back(id);
    }
  }
  for (const TableId id : unused) {
    const ExclusiveLock lock(&mutex_);  // the opener of a table gets it from here
    const auto found = tables_.find(id);
    if (found == tables_.end() || !IsLastOwner(found->second.table)) continue;
    const Table& table = *found->second.table;
    for (size_t i = 0; i < table.index_count(); ++i) {
      const std::shared_ptr<Index>& index = table.shared_index(i);
      if (IsLastOwner(index)) index->tree.ForgetLeafMap();
    }
  }
}

}  // namespace rowan
