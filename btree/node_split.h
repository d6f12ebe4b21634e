// SPDX-License-Identifier: GPL-2.0-only
// Where to split a node and with which separator; the bounds of the two halves. Pure functions of a
// latched node; tree_split.cc latches, logs and links.
//
// Leaves: entries [slot, count) move right, and the separator is the shortest key that is greater
// than everything on the left and not greater than anything on the right. Inner nodes: the
// separator at `slot` moves up and its child becomes the right node's first child.
#pragma once

#include <cstddef>
#include <vector>

#include "base/bytes.h"
#include "btree/node.h"
#include "btree/node_edit.h"

namespace rowan {

using KeyBuffer = std::vector<std::byte>;

struct SplitPlan {
  size_t slot = 0;
  KeyBuffer separator;
};

/// Shortest s with left < s <= right, written to `separator`. REQUIRES: left < right.
void ShortestSeparator(Bytes left, Bytes right, KeyBuffer* separator);

/// Splits at the insert position when inserts arrive in ascending or descending order (a leaf's
/// slot may then be count or 0: one leaf starts empty), otherwise like PlanMiddleSplit. `key` is
/// about to be inserted, or its value to grow. REQUIRES: at least two entries or separators.
SplitPlan PlanSplit(const NodeView& node, Bytes key, size_t value_bytes);
/// In the middle eighth by bytes, where the separator is shortest.
SplitPlan PlanMiddleSplit(const NodeView& node);
/// True if the left half fits with its new bounds; always so after PlanMiddleSplit.
bool FitsAfterSplit(const NodeView& node, size_t keep, const NodeBounds& left);
/// The same, for a leaf that may give up its stored high key (see kEntriesBeforeHighKey).
bool FitsAfterSplitOrWithoutHighKey(const NodeView& node, size_t keep, NodeBounds* left);

/// Bounds of the halves. `lower` is the node's lower bound, empty if unknown (or none). The results
/// point into `node`, `separator` and `lower`.
struct SplitBounds {
  NodeBounds left;
  NodeBounds right;
};
SplitBounds BoundsAfterSplit(const NodeView& node, Bytes lower, Bytes separator,
                             PageNumber right_page);

/// Full key at a slot.
inline void AssembleKey(const NodeView& node, size_t slot, KeyBuffer* key) {
  key->resize(node.KeyLength(slot));
  node.CopyKey(slot, key->data());
}

}  // namespace rowan
