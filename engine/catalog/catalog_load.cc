// SPDX-License-Identifier: GPL-2.0-only
// The catalog at a start. Rows of transactions that the last run did not finish are read as they
// were before: losers are rolled back while the tables are already served. A prepared transaction's
// version of a table is kept alongside, for its commit.
#include <utility>

#include "btree/cursor.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/catalog_rows.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/version_chain.h"

namespace rowan {
namespace {

/// Collects a row of a dropped table. Some of its rows may be purged already: then its file is
/// gone, too, and the rest is meaningless.
void NoteDropped(CatalogRowJoiner* dropped, Bytes key, Bytes row) {
  if (dropped->Add(key, row).ok()) return;
  dropped->Abandon();
  dropped->Add(key, row).Ignore();
}

}  // namespace

struct Catalog::Loading {
  const std::unordered_set<uint64_t>& unfinished;
  VersionChain versions;
  CatalogRowJoiner joiner{};
  CatalogRowJoiner dropped{};
  std::vector<Change> changes{};  ///< definitions that an unfinished transaction altered
  // For the members of these names, whose mutex comes before the latches of pages being read.
  decltype(Catalog::statistics_) statistics{};
  decltype(Catalog::unfinished_) unfinished_changes{};

  [[nodiscard]] bool IsUnfinished(const ClusteredHeader& header) const {
    return unfinished.contains(header.txn.value());
  }
};

Status Catalog::Load(const std::unordered_set<uint64_t>& unfinished, UndoLog* undo,
                     bool after_crash) {
  statistics_are_late_ = after_crash;
  Loading loading{unfinished, VersionChain(undo)};
  Cursor cursor(&rows_->tree);
  Status status = cursor.SeekFirst();
  for (; status.ok(); status = cursor.Next()) {
    const Status loaded = LoadRow(&loading, cursor.key(), cursor.value());
    if (!loaded.ok()) return loaded;
  }
  if (!status.Is(Code::kEndOfRange)) return status;
  status = loading.joiner.Finish();
  if (!status.ok()) return status;
  loading.dropped.Finish().Ignore();  // as in NoteDropped
  {
    const ExclusiveLock lock(&mutex_);
    statistics_ = std::move(loading.statistics);
    unfinished_ = std::move(loading.unfinished_changes);
    for (const CatalogRowJoiner::Joined& joined : loading.dropped.joined()) {
      dropped_spaces_.insert(joined.definition.space);
    }
    for (CatalogRowJoiner::Joined& joined : loading.joiner.joined()) {
      const TableId id = joined.definition.id;
      for (const IndexDef& index : joined.definition.indexes) indexes_[index.id] = id;
      tables_[id] = Entry{{std::move(joined.definition), joined.rows, nullptr}};
    }
  }
  for (const Change& change : loading.changes) LoadPrepared(change);
  return Status::Ok();
}

Status Catalog::LoadRow(Loading* loading, Bytes key, Bytes value) {
  ClusteredHeader header;
  Bytes row;
  if (!ParseClustered(value, &header, &row)) {
    return Status(Code::kCorrupt, "malformed entry in the catalog");
  }
  const TableId table(LoadBe64(key.data()));
  if (key.size() == StatisticsKeyOf({}).size()) {
    if (header.deleted) return Status::Ok();
    loading->statistics[table] = AsText(row);
    return Status::Ok();
  }
  if (!loading->IsUnfinished(header)) {
    if (!header.deleted) return loading->joiner.Add(key, row);
    NoteDropped(&loading->dropped, key, row);
    return Status::Ok();
  }
  VersionChain& versions = loading->versions;
  versions.Start(header, row);
  // Ends at the last committed version, or at the transaction's own if there is none.
  Status status;
  while (status.ok() && loading->IsUnfinished(versions.header())) status = versions.StepBack();
  // With damaged undo, the present version: opening the table compares.
  const bool first = key.size() == CatalogKey(table, 0).size();
  const bool made_anew = !status.ok() || versions.header().deleted;
  if (first && !made_anew && !header.deleted) loading->changes.push_back({table, header.txn});
  if (first) NoteUnfinished(loading, table, header, made_anew);
  return loading->joiner.Add(key, made_anew ? row : versions.row());
}

void Catalog::NoteUnfinished(Loading* loading, TableId table, const ClusteredHeader& newest,
                             bool made_anew) {
  TableChanges& changes = loading->unfinished_changes[newest.txn.value()];
  if (newest.deleted && made_anew) return;  // came and went
  std::vector<TableId>& kind = made_anew        ? changes.created
                               : newest.deleted ? changes.dropped
                                                : changes.altered;
  kind.push_back(table);
}

TableChanges Catalog::ChangesBy(TxnId txn) const {
  const SharedLock lock(&mutex_);
  const auto found = unfinished_.find(txn.value());
  return found == unfinished_.end() ? TableChanges{} : found->second;
}

void Catalog::LoadPrepared(const Change& change) {
  CatalogRowJoiner joiner;
  Cursor cursor(&rows_->tree);
  const std::string first = CatalogKey(change.table, 0);
  Status status = cursor.SeekAtLeast(AsBytes(first));
  for (; status.ok(); status = cursor.Next()) {
    const Bytes key = cursor.key();
    if (TableId(LoadBe64(key.data())) != change.table) break;
    ClusteredHeader header;
    Bytes row;
    if (!ParseClustered(cursor.value(), &header, &row) || header.deleted) continue;
    if (key.size() == StatisticsKeyOf({}).size()) continue;
    // A loser may have written only some of its rows: they will not be needed.
    if (!joiner.Add(key, row).ok()) return;
  }
  cursor.Unlatch();  // the mutex comes before page latches
  if (!joiner.Finish().ok() || joiner.joined().size() != 1) return;
  CatalogRowJoiner::Joined& joined = joiner.joined().front();
  const ExclusiveLock lock(&mutex_);
  const auto found = tables_.find(change.table);
  if (found == tables_.end()) return;
  found->second.prepared_by = change.by;
  found->second.prepared = {std::move(joined.definition), joined.rows, nullptr};
}

}  // namespace rowan
