// SPDX-License-Identifier: GPL-2.0-only
// LeavesAhead: the leaves that a walk to the right will come to, read before it does. They are
// taken from the children of their parent, so it does not matter where on disk they lie. It begins
// when the walk has waited for reads, and ends when what it would ask for is in the pool; what is
// asked for grows with the walk, so that a short one reads little in vain.
//
// All it does are hints: the tree may change after the children were listed.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
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
  /// For a step from this leaf, which is latched. True: then List, with no latch held.
  [[nodiscard]] bool Ask(const Tree& tree, const NodeView& leaf);
  /// Goes on with the children of the next parent. May read inner pages.
  void List(const Tree& tree);

 private:
  void AskListed(const Tree& tree);
  void ListChildren(const NodeView& parent, size_t first);

  std::vector<PageNumber> listed_;
  std::vector<std::byte> from_;  ///< lower bound of the first leaf that is not listed; empty: none
  size_t next_ = 0;              ///< the first listed leaf that was not asked for
  uint32_t window_ = 0;          ///< leaves asked for at once; 0: none
  uint32_t ahead_ = 0;           ///< leaves asked for that the walk has not reached
  bool is_listing_ = false;      ///< `from_` goes on from the listed ones
};

}  // namespace rowan
