// SPDX-License-Identifier: GPL-2.0-only
// Descent: the way from the root to a leaf or to an inner node, by optimistic lock coupling.
//
// Inner pages are read without latching: version, read, validate. A child's page number read from a
// parent is trusted only when the parent still validates after the child's version or latch was
// taken; until then the child may be any page, so damage seen there is real only if the parent
// still validates. Restarts are explicit and happen in one loop here.
// Thread safety: one thread per object; the tree by any number of threads.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "btree/node_search.h"
#include "btree/tree.h"
#include "buffer/page_guard.h"

namespace rowan {

struct DescentTarget {
  Aim aim = Aim::kOwner;
  Bytes key;
};

class Descent {
 public:
  explicit Descent(const Tree& tree) : tree_(&tree) {}

  /// Latches the leaf. No other page is held afterwards.
  Status ToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  /// Like ToLeaf, but begins at the remembered parent of the last leaf, if that has not changed and
  /// covers the key (kOwner only).
  Status ToLeafNearby(Bytes key, LatchMode mode, PageGuard* leaf);
  /// Finds the node at `level` that owns `key`, and its parent, both optimistically.
  /// kNotFound: the root is at that level or below it (then root_level() says at which).
  Status ToLevel(Bytes key, uint8_t level, OptimisticPage* parent, OptimisticPage* node,
                 ChildChoice* choice);

  /// Records the lower bound of the leaf reached by ToLeaf. Set before it.
  void TrackLowerBound(std::vector<std::byte>* lower) { lower_ = lower; }
  /// After ToLeaf with TrackLowerBound: false if the leaf is the first one.
  [[nodiscard]] bool has_lower() const { return has_lower_; }
  /// Collects index and number of children on the way. Set before ToLeaf.
  void TrackPath(std::vector<ChildChoice>* path) { path_ = path; }
  /// Level of the root at the last descent.
  [[nodiscard]] uint8_t root_level() const { return root_level_; }
  /// Forgets the remembered parent.
  void Forget() { parent_.frame = nullptr; }

 private:
  struct Step {
    OptimisticPage page;
    PageId id;
    ChildChoice choice;
  };

  /// Without a leaf where the parent remembered is not one of leaves any more.
  Status TryFromParent(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  Status TryToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  Status FixRoot(const DescentTarget& target, Step* step);
  Status Choose(const DescentTarget& target, Step* step);
  Status StepDown(const DescentTarget& target, Step* step);
  Status LatchLeaf(const Step& parent, LatchMode mode, PageGuard* leaf);
  Status LatchRootLeaf(LatchMode mode, PageGuard* leaf);
  Status Unreadable(PageId id);
  Status Damaged(const OptimisticPage& source, PageId id, const char* what);
  [[nodiscard]] PageId Id(PageNumber page) const { return {tree_->space(), page}; }
  [[nodiscard]] Bytes Whole(const OptimisticPage& page) const {
    return {page.page, tree_->pool()->page_size_bytes()};
  }

  const Tree* tree_;
  OptimisticPage parent_;  ///< of the last leaf; frame == nullptr: none
  PageId parent_id_;
  std::vector<std::byte>* lower_ = nullptr;
  bool has_lower_ = false;
  std::vector<ChildChoice>* path_ = nullptr;
  uint8_t root_level_ = 0;
};

/// True if a latched page is a sane leaf of the index; for pages reached by a validated way.
bool IsLeafOf(Bytes page, IndexId index);

}  // namespace rowan
