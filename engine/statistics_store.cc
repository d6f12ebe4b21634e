// SPDX-License-Identifier: GPL-2.0-only
// Statistics across restarts: one row per table in the catalog's tree, written by small
// transactions of their own. Nobody waits for them: what a crash loses is counted again.
#include "base/logging.h"
#include "engine/catalog_fields.h"
#include "engine/engine_impl.h"
#include "engine/statistics.h"

namespace rowan {
namespace {

/// Larger than any version of a table's definition, so that an older engine refuses the instance.
constexpr uint8_t kStatisticsVersion = 0x41;
constexpr uint64_t kPartsMax = 64;

/// Parts from the first with one row per key on are not stored: all further ones have one, too.
size_t StoredParts(const std::vector<float>& rows_per_key) {
  size_t count = 0;
  while (count < rows_per_key.size() && rows_per_key[count] > 1.0F) ++count;
  return count;
}

}  // namespace

std::string EncodeStatistics(Table* table) {
  const Table::Statistics now = table->statistics();
  const Cardinalities::RowsPerKey all = table->cardinalities()->All();
  std::string row(1, static_cast<char>(kStatisticsVersion));
  for (const uint64_t number : {now.rows, now.clustered_pages, now.secondary_pages, now.file_pages,
                                now.used_pages, uint64_t{all.size()}}) {
    PutNumber(&row, number);
  }
  for (const std::vector<float>& index : all) {
    const size_t stored = StoredParts(index);
    PutNumber(&row, index.size());
    PutNumber(&row, stored);
    for (size_t i = 0; i < stored; ++i) PutFloat(&row, index[i]);
  }
  return row;
}

Status DecodeStatistics(Bytes row, Table* table) {
  if (row.empty()) return Status(Code::kCorrupt, "empty statistics");
  if (static_cast<uint8_t>(row[0]) != kStatisticsVersion) {
    return Status(Code::kNewerFormat, "statistics of another format");
  }
  CatalogFieldReader fields(row.subspan(1));
  Table::Statistics statistics;
  for (uint64_t* number :
       {&statistics.rows, &statistics.clustered_pages, &statistics.secondary_pages,
        &statistics.file_pages, &statistics.used_pages}) {
    *number = fields.Number();
  }
  Cardinalities::RowsPerKey all;
  const uint64_t indexes = fields.Number();
  if (!fields.ok() || indexes != table->index_count()) {
    return Status(Code::kCorrupt, "malformed statistics");
  }
  for (uint64_t i = 0; i < indexes; ++i) {
    const uint64_t parts = fields.Number();
    const uint64_t stored = fields.Number();
    if (!fields.ok() || parts > kPartsMax || stored > parts) {
      return Status(Code::kCorrupt, "malformed statistics");
    }
    std::vector<float> index(parts, 1.0F);
    for (uint64_t part = 0; part < stored; ++part) {
      index[part] = fields.Float();
      // So that no number that is none gets into the optimizer's sums.
      if (!(index[part] >= 1.0F)) return Status(Code::kCorrupt, "malformed statistics");
    }
    all.push_back(std::move(index));
  }
  if (!fields.ok()) return Status(Code::kCorrupt, "malformed statistics");
  table->SetStatistics(statistics);
  table->cardinalities()->Publish(std::move(all), statistics.rows);
  return Status::Ok();
}

void Engine::Impl::KeepStatistics(Table* table) {
  if (IsTemporary(table->id())) return;
  const bool nothing = table->cardinalities()->version() == 0;
  if (nothing || !table->cardinalities()->settings().persistent) return;
  if (table->dropped.load(std::memory_order_acquire)) return;
  RowWriter writer(txns.get());
  Txn txn;
  txn.state = TxnState::kActive;
  txn.isolation = IsolationLevel::kReadCommitted;
  txn.lock_wait_timeout_s = 0;  // a DROP of the table has the row: it goes
  const std::string row = EncodeStatistics(table);
  // What keeps statistics from being stored is met by those whose data it concerns.
  if (!catalog->WriteStatistics(&writer, &txn, table->id(), row).ok() ||
      !txns->Commit(&txn, Durability::kBackground, false).ok()) {
    txns->Rollback(&txn).Ignore();
  }
}

}  // namespace rowan
