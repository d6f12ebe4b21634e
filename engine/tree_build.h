// SPDX-License-Identifier: GPL-2.0-only
// Builds the tree of a secondary index bottom-up from sorted entries that every reader of the index
// may see. Thread safety: one thread; nobody else uses the tree.
#pragma once

#include <functional>

#include "btree/tree.h"
#include "engine/entry_sorter.h"
#include "engine/row_codec.h"
#include "engine/work_progress.h"

namespace rowan {

struct TreeBuild {
  Tree* tree = nullptr;
  EntrySorter* entries = nullptr;       ///< all added
  TxnId stamp;                          ///< of the builder, for the leaves
  std::function<bool()> interrupted{};  ///< by a kill or a shutdown; asked now and then
  WorkProgress* progress = nullptr;     ///< null: nobody wants to know
};

/// kDuplicate: two entries with equal unique values; the later one's key goes to `*duplicate_key`.
/// kInterrupted.
Status BuildTree(const TreeBuild& build, ByteBuffer* duplicate_key);

}  // namespace rowan
