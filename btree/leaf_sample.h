// SPDX-License-Identifier: GPL-2.0-only
// LeafSample: chooses leaves of a tree at random, from parent to parent: leaves that are not chosen
// are not touched. Each leaf has the same chance, whatever was chosen before.
//
//   Random random(seed);
//   LeafSample sample(&tree, 0.1, &random);
//   while (sample.Next().ok()) visit the entries in [sample.from(), sample.end());
//
// What is chosen is named as keys, so its user reads it as he reads any range. Between two calls
// nothing is held: a leaf that is split or merged meanwhile counts as what it was when its parent
// was looked at. A tree of one leaf is chosen whole.
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

  /// The next leaves chosen that lie side by side. kEndOfRange: no more.
  Status Next();
  /// Of their keys; an empty end: no bound. Valid until the next call.
  [[nodiscard]] Bytes from() const { return from_; }
  [[nodiscard]] Bytes end() const { return end_; }

 private:
  /// Draws for the children of a parent, from one on, until chosen ones end: true.
  bool Draw(const NodeView& parent, size_t child);
  /// `next_` becomes the end of the leaf that begins there, of which no parent knows it.
  Status PassLeaf();

  Tree* const tree_;
  const double share_;
  Random* const random_;
  Descent descent_;
  KeyBuffer next_;  ///< where the leaf begins that is drawn for next
  KeyBuffer from_;
  KeyBuffer end_;
  KeyBuffer bound_;
  bool open_ = false;           ///< the leaves from `from_` to `next_` are chosen
  bool bound_unknown_ = false;  ///< where the leaf at `next_` ends
  bool done_ = false;
};

/// First keys of `count` leaves chosen one by one, each once, in order: fewer where a leaf was
/// chosen again or could not be read, because a writer came in between or because it is damaged.
std::vector<KeyBuffer> SampleLeaves(Tree* tree, uint32_t count, Random* random,
                                    FunctionRef<bool()> interrupted = {});

}  // namespace rowan
