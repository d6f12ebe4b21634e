// SPDX-License-Identifier: GPL-2.0-only
// MapWalk: passes over a range of keys using the visibility map's words for its leaves, from parent
// to parent, without touching the leaves' pages. Where the map does not say enough, or the range
// ends inside a leaf, it stops and names a stretch of keys for the caller to visit.
//
//   MapWalk walk(&tree, low_txn);
//   walk.Start(from, end);
//   while (!walk.done()) {
//     status = walk.Forward(UINT64_MAX);
//     total += walk.entries();
//     if (walk.has_stretch()) { total += what is visible in [stretch_from, stretch_end);
//                               walk.Visited(); }
//   }
//
// The parent is latched shared while its children's words are read, so each of them is a leaf with
// the bounds that the parent gives at that moment. Between two parents nothing is held: the parts
// of the range are read at different times, which is fine for what does not change: the entries
// that one snapshot sees.
// Thread safety: one thread; the tree by any number of threads.
#pragma once

#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/descent.h"
#include "btree/node_split.h"
#include "btree/tree.h"

namespace rowan {

class MapWalk {
 public:
  /// Uses words that hold for a snapshot with this low_txn.
  MapWalk(Tree* tree, TxnId low_txn) : tree_(tree), low_txn_(low_txn), descent_(*tree) {}

  /// The range [from, end); empty: no bound.
  void Start(Bytes from, Bytes end);
  /// Passes leaves from the range's start on, at most `entries_max` entries in this call.
  Status Forward(uint64_t entries_max) { return Walk(&MapWalk::PassForward, entries_max); }
  /// The same backwards from the range's end. Its stretches are one leaf long.
  Status Backward(uint64_t entries_max) { return Walk(&MapWalk::PassBackward, entries_max); }

  /// Live entries of the leaves passed by the last call.
  [[nodiscard]] uint64_t entries() const { return entries_; }
  [[nodiscard]] bool done() const { return done_; }
  /// The stretch to visit next; empty bounds: none.
  [[nodiscard]] bool has_stretch() const { return has_stretch_; }
  [[nodiscard]] Bytes stretch_from() const { return stretch_from_; }
  [[nodiscard]] Bytes stretch_end() const { return stretch_end_; }
  /// The stretch has been visited.
  void Visited();

  /// Where the keys of a parent's child end. False: stored nowhere. Empty: no bound.
  [[nodiscard]] static bool UpperBound(const NodeView& parent, size_t child, KeyBuffer* bound);

 private:
  using Pass = void (MapWalk::*)(const NodeView& parent, size_t child);
  Status Walk(Pass pass, uint64_t entries_max);
  void PassForward(const NodeView& parent, size_t child);
  void PassBackward(const NodeView& parent, size_t child);
  /// Counts the child's entries if its word holds and there are not too many.
  bool TryPass(const NodeView& parent, size_t child);
  [[nodiscard]] bool Holds(const NodeView& parent, size_t child) const {
    return tree_->leaf_map().Get(parent.Child(child)).HoldsFor(low_txn_);
  }
  /// Children [0, n) that end before or at the range's end.
  [[nodiscard]] size_t WholeChildrenEnd(const NodeView& parent) const;
  /// Children [n, ...) that begin at or after the range's start.
  [[nodiscard]] size_t WholeChildrenBegin(const NodeView& parent) const;
  void LowerBound(const NodeView& parent, size_t child, KeyBuffer* bound) const;
  /// Ends the walk when nothing is left of the range.
  void CheckDone();

  Tree* const tree_;
  const TxnId low_txn_;
  Descent descent_;
  KeyBuffer from_;  ///< what is left of the range
  KeyBuffer end_;
  KeyBuffer parent_lower_;
  uint64_t entries_ = 0;
  uint64_t entries_max_ = 0;
  uint64_t leaves_ = 0;
  bool forward_ = true;
  bool done_ = false;
  bool has_stretch_ = false;
  KeyBuffer stretch_from_;
  KeyBuffer stretch_end_;
};

}  // namespace rowan
