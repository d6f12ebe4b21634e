// SPDX-License-Identifier: GPL-2.0-only
// Builds trees of secondary indexes bottom-up from sorted entries that every reader of the index
// may see, several trees at once. Thread safety: one thread; no other one uses the trees.
#pragma once

#include <functional>
#include <memory>
#include <span>

#include "btree/tree.h"
#include "engine/row_codec.h"
#include "engine/sort/entry_sorter.h"
#include "engine/work_progress.h"

namespace rowan {

struct TreeBuild {
  Tree* tree = nullptr;
  std::unique_ptr<EntrySorter> entries{};  ///< complete; freed when the tree is built
};

/// How trees are built, all of them.
struct TreeBuildOptions {
  TxnId stamp;                          ///< the builder's, for the leaves
  std::function<bool()> interrupted{};  ///< by a kill or a shutdown; asked now and then, by any
                                        ///< thread
  WorkProgress* progress = nullptr;     ///< null: no progress is reported
  uint32_t threads = 1;                 ///< at once, the caller's included
};

/// Which tree could not be built.
struct TreeBuildFailure {
  size_t tree = 0;           ///< its place among them
  ByteBuffer duplicate_key;  ///< the later one of two entries
};

/// kDuplicate: two entries of a tree with equal unique values. If several trees have such entries,
/// the first tree is named, whatever the number of threads. kInterrupted.
Status BuildTrees(std::span<TreeBuild> builds, const TreeBuildOptions& options,
                  TreeBuildFailure* failure);

}  // namespace rowan
