// SPDX-License-Identifier: GPL-2.0-only
// IndexRef: what transactions need to know of one index, and how they find it by id. Kept alive by
// shared_ptr while an operation, rollback or purge uses it; `dropped` tells late comers to skip.
#pragma once

#include <atomic>
#include <memory>

#include "base/ids.h"
#include "btree/tree.h"

namespace rowan {

struct IndexRef {
  IndexRef(PageAllocator* allocator, SpaceId space, PageNumber root, IndexId index,
           TableId table_id,
           bool is_clustered)
      : tree(allocator, space, root, index), table(table_id), clustered(is_clustered) {}

  Tree tree;
  const TableId table;
  const bool clustered;
  std::atomic<bool> dropped{false};

  [[nodiscard]] IndexId id() const { return tree.index(); }
};

class IndexResolver {
 public:
  virtual ~IndexResolver() = default;
  /// nullptr when the index does not exist any more. Thread-safe; may read the catalog.
  virtual std::shared_ptr<IndexRef> FindIndex(IndexId index) = 0;
  /// After FindIndex found nothing: true if the index exists and only could not be opened.
  virtual bool IndexExists(IndexId /*index*/) { return false; }
  /// After FindIndex found nothing: Ok when there is no such index, else why it cannot be opened.
  /// kNotFound: its file is missing.
  virtual Status OpenFailure(IndexId /*index*/) { return Status::Ok(); }
};

}  // namespace rowan
