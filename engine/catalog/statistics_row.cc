// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/statistics_row.h"

#include <utility>
#include <vector>

#include "engine/catalog/cardinalities.h"
#include "engine/catalog/catalog_fields.h"

namespace rowan {
namespace {

// Larger than any version of a table's definition, so that an older engine refuses the instance.
constexpr uint8_t kWithoutTrees = 0x41;
constexpr uint8_t kStatisticsVersion = 0x42;
constexpr uint64_t kPartsMax = 64;

/// From the first part with one row per key on, parts are not stored: all later ones have one, too.
size_t StoredParts(const std::vector<float>& rows_per_key) {
  size_t count = 0;
  while (count < rows_per_key.size() && rows_per_key[count] > 1.0F) ++count;
  return count;
}

Result<std::vector<float>> ReadRowsPerKey(CatalogFieldReader* fields) {
  const Status malformed(Code::kCorrupt, "malformed statistics");
  const uint64_t parts = fields->Number();
  const uint64_t stored = fields->Number();
  if (!fields->ok() || parts > kPartsMax || stored > parts) return malformed;
  std::vector<float> rows_per_key(parts, 1.0F);
  for (uint64_t part = 0; part < stored; ++part) {
    rows_per_key[part] = fields->Float();
    // Keeps NaN out of the optimizer's sums.
    if (!(rows_per_key[part] >= 1.0F)) return malformed;
  }
  return rows_per_key;
}

void PutTree(std::string* row, const TreeStatistics& tree) {
  for (const uint64_t number :
       {tree.leaf_pages, tree.inner_pages, tree.entries, uint64_t{tree.levels}}) {
    PutNumber(row, number);
  }
}

TreeStatistics ReadTree(CatalogFieldReader* fields) {
  TreeStatistics tree;
  for (uint64_t* number : {&tree.leaf_pages, &tree.inner_pages, &tree.entries}) {
    *number = fields->Number();
  }
  tree.levels = static_cast<uint32_t>(fields->Number());
  return tree;
}

}  // namespace

bool StoredStatistics::PublishIn(Table* target) && {
  if (rows_per_key.size() != target->index_count()) return false;
  target->SetStatistics(table);
  target->cardinalities()->PublishTrees(std::move(trees));
  target->cardinalities()->Publish(std::move(rows_per_key), table.rows);
  return true;
}

std::string EncodeStatistics(Table* table) {
  const Table::Statistics now = table->statistics();
  const Cardinalities::RowsPerKey all = table->cardinalities()->All();
  std::vector<TreeStatistics> trees = table->cardinalities()->Trees();
  trees.resize(all.size());  // equal, unless they are being counted
  std::string row(1, static_cast<char>(kStatisticsVersion));
  for (const uint64_t number : {now.rows, now.clustered_pages, now.secondary_pages, now.file_pages,
                                now.used_pages, uint64_t{all.size()}}) {
    PutNumber(&row, number);
  }
  for (size_t i = 0; i < all.size(); ++i) {
    const std::vector<float>& index = all[i];
    const size_t stored = StoredParts(index);
    PutNumber(&row, index.size());
    PutNumber(&row, stored);
    for (size_t part = 0; part < stored; ++part) PutFloat(&row, index[part]);
    PutTree(&row, trees[i]);
  }
  return row;
}

Result<StoredStatistics> DecodeStatistics(Bytes row) {
  if (row.empty()) return Status(Code::kCorrupt, "empty statistics");
  const auto version = static_cast<uint8_t>(row[0]);
  if (version != kWithoutTrees && version != kStatisticsVersion) {
    return Status(Code::kNewerFormat, "statistics of another format");
  }
  CatalogFieldReader fields(row.subspan(1));
  StoredStatistics result;
  for (uint64_t* number :
       {&result.table.rows, &result.table.clustered_pages, &result.table.secondary_pages,
        &result.table.file_pages, &result.table.used_pages}) {
    *number = fields.Number();
  }
  const uint64_t indexes = fields.Number();
  for (uint64_t i = 0; fields.ok() && i < indexes; ++i) {
    Result<std::vector<float>> rows_per_key = ReadRowsPerKey(&fields);
    if (!rows_per_key.ok()) return rows_per_key.status();
    result.rows_per_key.push_back(std::move(rows_per_key).value());
    if (version == kStatisticsVersion) result.trees.push_back(ReadTree(&fields));
  }
  if (!fields.ok()) return Status(Code::kCorrupt, "malformed statistics");
  return result;
}

}  // namespace rowan
