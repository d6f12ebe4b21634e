// SPDX-License-Identifier: GPL-2.0-only
// RangeCutter: cuts a range of keys into pieces of some adjacent leaves, for threads that read it
// together, by what the parents of the leaves say, without touching the leaves.
//
//   RangeCutter cutter(&tree, from, end);
//   while (cutter.Next().ok()) read [cutter.from(), cutter.end());
//
// The pieces are the range, whatever others change meanwhile: they are only keys, each of which
// begins where the one before ends. A leaf that is split or merged after its parent was read makes
// a piece larger or smaller.
// Thread safety: one thread; the tree by any number of threads.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "btree/descent.h"
#include "btree/node_split.h"
#include "btree/tree.h"

namespace rowan {

class RangeCutter {
 public:
  /// [from, end); empty: no bound.
  RangeCutter(Tree* tree, Bytes from, Bytes end)
      : tree_(tree),
        descent_(*tree),
        range_end_(end.begin(), end.end()),
        next_(from.begin(), from.end()) {}

  /// The next piece. kEndOfRange: no more.
  Status Next();
  /// Valid until the next call; an empty end: no bound.
  [[nodiscard]] Bytes from() const { return from_; }
  [[nodiscard]] Bytes end() const { return next_; }
  /// Nothing is left behind the piece.
  [[nodiscard]] bool done() const { return done_; }

 private:
  Status FindEnd();
  /// Moves `next_` to the end of the leaf where it stands, which no parent knows.
  Status PassLeaf();

  Tree* const tree_;
  Descent descent_;
  const KeyBuffer range_end_;
  KeyBuffer from_;
  KeyBuffer next_;  ///< where the piece ends and the next one begins
  bool done_ = false;
};

}  // namespace rowan
