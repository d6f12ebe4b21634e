// SPDX-License-Identifier: GPL-2.0-only
// LeavesAhead: the leaves that a walk in either direction will come to, read before it does. They
// are taken from the children of their parent, so it does not matter where on disk they lie. It
// begins when the walk has waited for reads, and ends when what it would ask for is in the pool;
// what is asked for grows with the walk, so that a short one reads little in vain.
//
// All it does are hints: the tree may change after the children were listed.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "btree/direction.h"
#include "btree/node.h"
#include "btree/tree.h"

namespace rowan {

class LeavesAhead {
 public:
  /// The walk starts anew elsewhere.
  void Restart() {
    listed_.clear();
    next_ = 0;
    window_ = 0;
    ahead_ = 0;
    is_listing_ = false;
  }
  /// Before each step; true: Ask, even if the next leaf is in the pool.
  [[nodiscard]] bool IsDue() { return ahead_ != 0 && --ahead_ <= window_ / 2; }
  /// The last step will be repeated.
  void StepBack() {
    if (ahead_ != 0) ++ahead_;
  }
  /// For a step from a leaf with this bound in the direction of the walk; empty: it is the last
  /// one. True: then List, with no latch held.
  [[nodiscard]] bool Ask(const Tree& tree, Direction direction, Bytes bound);
  /// Goes on with the children of the next parent. May read inner pages.
  void List(const Tree& tree);

 private:
  void AskListed(const Tree& tree);
  void ListForward(const NodeView& parent, size_t first);
  void ListBackward(const NodeView& parent, size_t last, Bytes parent_lower);

  std::vector<PageNumber> listed_;
  Direction direction_ = Direction::kForward;
  std::vector<std::byte> from_;  ///< what is not listed begins behind it; empty: none
  size_t next_ = 0;              ///< the first listed leaf that was not asked for
  uint32_t window_ = 0;          ///< leaves asked for at once; 0: none
  uint32_t ahead_ = 0;           ///< leaves asked for that the walk has not reached
  bool is_listing_ = false;      ///< `from_` goes on from the listed ones
};

}  // namespace rowan
