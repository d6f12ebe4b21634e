// SPDX-License-Identifier: GPL-2.0-only
#include "engine/statistics_row.h"

#include <utility>
#include <vector>

#include "engine/cardinalities.h"
#include "engine/catalog_fields.h"

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

}  // namespace rowan
