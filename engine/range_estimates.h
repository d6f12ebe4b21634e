// SPDX-License-Identifier: GPL-2.0-only
// RangeEstimates: how many rows ranges of a table's indexes have, for the optimizer: from a few
// pages. A range is looked for from where the one before began, as those of a list are in order.
// Thread safety: one thread.
#pragma once

#include <cstdint>

#include "btree/descent.h"
#include "engine/catalog/table.h"

namespace rowan {

class RangeEstimates {
 public:
  /// Entries between two keys of an index; empty: no bound. Delete-marked ones count.
  Result<uint64_t> Estimate(const Table& table, size_t index_number, Bytes from, Bytes to) {
    Tree* const tree = &table.index(index_number)->tree;
    if (tree != tree_) Clear();
    tree_ = tree;
    return tree->EstimateRange(from, to, &path_);
  }
  /// REQUIRED before an index that was asked for may be gone.
  void Clear() {
    tree_ = nullptr;
    path_.Clear();
  }

 private:
  const Tree* tree_ = nullptr;  ///< of the path
  Ancestors path_;
};

}  // namespace rowan
