// SPDX-License-Identifier: GPL-2.0-only
// LeafSample: chooses leaves of a tree at random, from parent to parent, without touching leaves
// that are not chosen. Each leaf has the same chance, whatever was chosen before.
//
//   Random random(seed);
//   LeafSample sample(&tree, 0.1, &random);
//   while (sample.Next().ok()) visit the entries in [sample.from(), sample.end());
//
// What is chosen is given as keys, so the caller reads it like any range. Nothing is held between
// two calls: a leaf that is split or merged in the meantime counts as it was when its parent was
// read. A tree of one leaf is chosen whole.
// Thread safety: one thread; the tree by any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/random.h"
#include "base/status.h"
#include "btree/descent.h"
#include "btree/node_split.h"
#include "btree/tree.h"

namespace rowan {

class LeafSample {
 public:
  /// `share`: of the leaves, from 0 to 1.
  LeafSample(Tree* tree, double share, Random* random)
      : tree_(tree), share_(share), random_(random), descent_(*tree) {}

  /// The next run of adjacent chosen leaves. kEndOfRange: no more.
  Status Next();
  /// The bounds of their keys; an empty end: no bound. Valid until the next call.
  [[nodiscard]] Bytes from() const { return from_; }
  [[nodiscard]] Bytes end() const { return end_; }

 private:
  /// Draws for the children of a parent, starting at `child`, until a run of chosen ones ends:
  /// true.
  bool Draw(const NodeView& parent, size_t child);
  /// Moves `next_` to the end of the leaf that begins there, which no parent knows.
  Status PassLeaf();

  Tree* const tree_;
  const double share_;
  Random* const random_;
  Descent descent_;
  KeyBuffer next_;  ///< where the leaf to draw for next begins
  KeyBuffer from_;
  KeyBuffer end_;
  KeyBuffer bound_;
  bool open_ = false;           ///< the leaves from `from_` to `next_` are chosen
  bool bound_unknown_ = false;  ///< no parent knows where the leaf at `next_` ends
  bool done_ = false;
};

/// First keys of `count` leaves chosen one by one, each once, in order. Fewer if a leaf was chosen
/// again or is damaged, or if writers intervened again and again.
std::vector<KeyBuffer> SampleLeaves(Tree* tree, uint32_t count, Random* random,
                                    FunctionRef<bool()> interrupted = {});

}  // namespace rowan
