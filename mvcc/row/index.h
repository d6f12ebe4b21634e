// SPDX-License-Identifier: GPL-2.0-only
// Index: what transactions need to know about an index. Kept alive by shared_ptr while an
// operation, rollback or purge uses it; `dropped` tells latecomers to skip.
#pragma once

#include <atomic>

#include "base/ids.h"
#include "base/status.h"
#include "btree/tree.h"

namespace rowan {

struct Index {
  Index(PageAllocator* allocator, SpaceId space, PageNumber root, IndexId index, TableId table_id,
        bool is_clustered)
      : tree(allocator, space, root, index), table(table_id), clustered(is_clustered) {}

  Tree tree;
  const TableId table;
  const bool clustered;
  std::atomic<bool> dropped{false};

  [[nodiscard]] IndexId id() const { return tree.index(); }
  /// Logs and returns kCorrupt: a row or entry on this page is not what the transaction's records
  /// say. `what`: a clause like "a row is shorter than its header".
  Status ReportDamage(PageNumber page, const char* what) const {
    return tree.ReportDamage(page, what);
  }
};

}  // namespace rowan
