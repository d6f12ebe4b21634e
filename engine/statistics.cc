// SPDX-License-Identifier: GPL-2.0-only
#include "engine/statistics.h"

#include <algorithm>
#include <vector>

#include "base/random.h"
#include "btree/cursor.h"
#include "engine/engine.h"

namespace rowan {

Status RefreshTableStatistics(PageAllocator* allocator, Table* table) {
  Table::Statistics statistics;
  for (size_t i = 0; i < table->index_count(); ++i) {
    Result<TreeStatistics> tree = table->index(i)->tree.Statistics();
    if (!tree.ok()) return tree.status();
    const uint64_t pages = tree->leaf_pages + tree->inner_pages;
    if (i == 0) {
      statistics.rows = tree->entries;
      statistics.clustered_pages = pages;
    } else {
      statistics.secondary_pages += pages;
    }
  }
  Result<SpaceStatistics> space = allocator->Statistics(table->space());
  if (!space.ok()) return space.status();
  statistics.file_pages = space->file_pages;
  statistics.used_pages = space->used_pages;
  table->SetStatistics(statistics);
  return Status::Ok();
}

Status Engine::RefreshStatistics(Table* table) {
  return RefreshTableStatistics(allocator(), table);
}

namespace {

/// Places to sample, in key order: first keys of leaves chosen at random, without repetition.
std::vector<std::vector<std::byte>> ChooseLeaves(Tree* tree, uint32_t count) {
  std::vector<std::vector<std::byte>> keys;
  Random random(uint64_t{tree->index().value()} + 1);
  for (uint32_t i = 0; i < count; ++i) {
    std::vector<std::byte> key;
    // A sample that a writer spoiled is one fewer.
    if (tree->SampleLeaf(random.Next(), &key).ok()) keys.push_back(std::move(key));
  }
  std::sort(keys.begin(), keys.end(), [](Bytes a, Bytes b) { return CompareBytes(a, b) < 0; });
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

/// Visits the entries from the cursor on; only those of its leaf unless `all`.
Status VisitFrom(Cursor* cursor, bool all, const Engine::SampleVisit& visit) {
  PageNumber leaf = kNoPage;
  Status status;
  while (status.ok()) {
    const bool first = cursor->leaf() != leaf;
    if (first && leaf != kNoPage && !all) return status;
    leaf = cursor->leaf();
    visit(cursor->key(), first);
    status = cursor->Next();
  }
  return status;
}

}  // namespace

Status Engine::SampleIndex(Table* table, size_t index, uint32_t leaves_max,
                           const SampleVisit& visit) {
  Tree* tree = &table->index(index)->tree;
  Result<TreeStatistics> statistics = tree->Statistics();
  if (!statistics.ok()) return statistics.status();
  Cursor cursor(tree, FixHint::kScan);
  Status status;
  if (statistics->leaf_pages <= leaves_max) {
    status = cursor.SeekFirst();
    if (status.ok()) status = VisitFrom(&cursor, true, visit);
  } else {
    for (const std::vector<std::byte>& key : ChooseLeaves(tree, leaves_max)) {
      status = cursor.SeekAtLeast(key);
      if (status.ok()) status = VisitFrom(&cursor, false, visit);
      cursor.Unlatch();
      if (!status.ok() && !status.Is(Code::kEndOfRange)) return status;
    }
  }
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

}  // namespace rowan
