// SPDX-License-Identifier: GPL-2.0-only
// Descent: the path from the root to a leaf or to an inner node, by optimistic lock coupling.
//
// Inner pages are read without latching: version, read, validate. A child's page number read from a
// parent is trusted only when the parent still validates after the child's version or latch was
// taken; until then the child may be any page, so damage seen there is real only if the parent
// still validates. Restarts are explicit and happen in a single loop.
//
// Ancestors: a cursor remembers the inner pages of its last path with their versions. While its
// version is the same, such a page is unchanged: it is in the tree, at its level, with the same
// bounds. (The upper bound is in the page; the lower one never changes during a node's life: a
// split gives the upper part away, a merge takes from the right.) So the path to a nearby leaf
// begins at the lowest ancestor that covers the target. A page that was split, merged away, freed
// or evicted has another version and is skipped.
// Thread safety: one thread per object; the tree by any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <vector>

#include "base/assertions.h"
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

/// The inner pages on the path to a cursor's leaf.
struct Ancestors {
  struct Place {
    OptimisticPage page;
    PageId id;
  };
  /// Higher levels are not remembered: with a few hundred children per page there are none.
  static constexpr uint8_t kLevels = 6;

  void Clear() { root_level = 0; }
  [[nodiscard]] uint8_t levels() const { return std::min(root_level, kLevels); }
  /// REQUIRES: 0 < level <= levels().
  [[nodiscard]] Place& At(uint8_t level) {
    ROWAN_DCHECK(level != 0 && level <= kLevels);
    return places[level - 1u];
  }

  std::array<Place, kLevels> places;
  uint16_t child_index = 0;  ///< of the leaf among the children of the lowest place
  uint8_t root_level = 0;    ///< 0: nothing is remembered
};

class Descent {
 public:
  explicit Descent(const Tree& tree) : tree_(&tree) {}

  /// Latches the leaf. No other page is held afterwards.
  Status ToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  /// Like ToLeaf, but begins at the lowest remembered ancestor that is unchanged and covers the key
  /// (kOwner and kBefore only). REQUIRES: Remember.
  Status ToLeafNearby(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  /// Like ToLeafNearby (kOwner), but latches nothing: what is read of the leaf is trusted only once
  /// that validates. False: this did not succeed at once. The latched descents say why, and cope.
  [[nodiscard]] bool TryToLeafUnlatched(Bytes key, PageNumber* number, OptimisticPage* leaf);
  /// The leaf that owns the key, or the first page on the way to it that is not in the pool or is
  /// being changed; kNoPage: unknown. Nothing is proven. REQUIRES: Remember.
  [[nodiscard]] PageNumber UnlatchedLeafOf(Bytes key) const;
  /// Likewise the leaf before this one, whose lower bound is `lower`. REQUIRES: Remember.
  [[nodiscard]] PageNumber UnlatchedLeafBefore(PageNumber leaf, Bytes lower) const;
  /// How the last ToLeafNearby or TryToLeafUnlatched got there.
  enum class Way : uint8_t {
    kDescended,    ///< from the root, over more than one level
    kClimbed,      ///< from another ancestor, or from the parent
    kToNeighbour,  ///< from the parent, to the right neighbour of the previous leaf
  };
  [[nodiscard]] Way way() const { return way_; }

  /// What ancestors know of the lower bound of a leaf.
  enum class LowerBound : uint8_t { kUnknown, kNone, kKnown };
  /// The lower bound of the latched leaf, which owns `key`. REQUIRES: Remember.
  LowerBound LowerBoundOf(PageNumber leaf, Bytes key, std::vector<std::byte>* lower);
  /// Finds the node at `level` that owns `key`, and its parent, both optimistically.
  /// kNotFound: the root is at that level or below it (root_level() then says which).
  Status ToLevel(Bytes key, uint8_t level, OptimisticPage* parent, OptimisticPage* node,
                 ChildChoice* choice);

  /// Latches the parent of the leaf, shared, and returns which child the leaf is. With
  /// TrackLowerBound, the bound is the parent's. kNotFound: the root is a leaf.
  Status ToLeafParent(const DescentTarget& target, PageGuard* parent, ChildChoice* choice);

  /// How leaves are read from here on.
  void SetLeafHint(FixHint hint) { leaf_hint_ = Speculative(hint); }
  /// Records the lower bound of the leaf that ToLeaf reaches. Call before ToLeaf.
  void TrackLowerBound(std::vector<std::byte>* lower) { lower_ = lower; }
  /// After ToLeaf with TrackLowerBound: false if the leaf is the first one.
  [[nodiscard]] bool has_lower() const { return has_lower_; }
  /// Collects index and number of children on the path. Call before ToLeaf.
  void TrackPath(std::vector<ChildChoice>* path) { path_ = path; }
  /// Level of the root at the last descent.
  [[nodiscard]] uint8_t root_level() const { return root_level_; }
  /// Stores the path of ToLeaf and ToLeafNearby in `ancestors`, which outlives the descent. Call
  /// first.
  void Remember(Ancestors* ancestors) { ancestors_ = ancestors; }

 private:
  struct Step {
    OptimisticPage page;
    PageId id;
    ChildChoice choice;
  };

  /// kNotFound: the ancestor has changed, or may not cover the target.
  Status TryFromAncestor(const DescentTarget& target, uint8_t level, LatchMode mode,
                         PageGuard* leaf);
  Status TryToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf);
  bool TryKnownParent(Bytes key, OwnerChild* owner) const;
  PageNumber UnlatchedLeafFromRoot(const DescentTarget& target) const;
  bool TryFromRoot(Bytes key, PageNumber* number, OptimisticPage* leaf);
  Status DownToLeaf(const DescentTarget& target, Step* step, LatchMode mode, PageGuard* leaf);
  void Keep(const Step& step);
  Status FixRoot(const DescentTarget& target, Step* step);
  Status Choose(const DescentTarget& target, Step* step);
  Status StepDown(const DescentTarget& target, Step* step);
  Status TryToLeafParent(const DescentTarget& target, PageGuard* parent, ChildChoice* choice);
  Status LatchLeaf(const Step& parent, LatchMode mode, PageGuard* leaf);
  Status LatchRootLeaf(LatchMode mode, PageGuard* leaf);
  Status Unreadable(PageId id);
  Status Damaged(const OptimisticPage& source, PageId id, const char* what);
  [[nodiscard]] PageId Id(PageNumber page) const { return {tree_->space(), page}; }
  [[nodiscard]] Bytes Whole(const OptimisticPage& page) const {
    return {page.page, tree_->pool()->page_size_bytes()};
  }

  const Tree* tree_;
  Ancestors* ancestors_ = nullptr;
  FixHint leaf_hint_ = FixHint::kSpeculative;
  Way way_ = Way::kDescended;
  std::vector<std::byte>* lower_ = nullptr;
  bool has_lower_ = false;
  uint8_t lower_above_ = 0;  ///< separators at this level and below do not count for it
  std::vector<ChildChoice>* path_ = nullptr;
  uint8_t root_level_ = 0;
};

/// True if a latched page is a sane leaf of the index. For pages reached by a validated path.
bool IsLeafOf(Bytes page, IndexId index);

}  // namespace rowan
