// SPDX-License-Identifier: GPL-2.0-only
#include "engine/statistics.h"

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

Status Engine::SampleIndex(Table* table, size_t index, uint32_t leaves_max,
                           const SampleVisit& visit) {
  IndexRef* ref = table->index(index);
  Result<TreeStatistics> tree = ref->tree.Statistics();
  if (!tree.ok()) return tree.status();
  const uint64_t leaves = std::max<uint64_t>(tree->leaf_pages, 1);
  // Small trees are walked whole; larger ones at evenly spaced leaves, found by skipping along the
  // right links: cheap because a skipped leaf is not copied.
  const uint64_t step = leaves <= leaves_max ? 1 : leaves / leaves_max;
  Cursor cursor(&ref->tree, FixHint::kScan);
  Status status = cursor.SeekFirst();
  PageNumber leaf = kNoPage;
  uint64_t leaf_index = 0;
  while (status.ok()) {
    const bool first = cursor.leaf() != leaf;
    if (first) {
      leaf = cursor.leaf();
      ++leaf_index;
    }
    if ((leaf_index - 1) % step == 0) visit(cursor.key(), first);
    status = cursor.Next();
  }
  return status.Is(Code::kEndOfRange) ? Status::Ok() : status;
}

}  // namespace rowan
