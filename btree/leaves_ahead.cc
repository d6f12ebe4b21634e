// SPDX-License-Identifier: GPL-2.0-only
#include "btree/leaves_ahead.h"

#include <algorithm>
#include <array>

#include "btree/descent.h"
#include "btree/map_walk.h"
#include "btree/node_search.h"

namespace rowan {
namespace {

/// A queue that keeps a disk busy, and half of what ReadAhead reads at a time.
constexpr uint32_t kWindowMax = 32;
/// A walk that has waited twice goes on, as a rule.
constexpr uint32_t kWindowMin = 2;
/// More children are not copied while their parent is latched.
constexpr size_t kListedMax = 512;

}  // namespace

bool LeavesAhead::Ask(const Tree& tree, Direction direction, Bytes bound) {
  if (direction != direction_) Restart();
  direction_ = direction;
  const uint32_t most = std::clamp<uint32_t>(tree.pool()->PrefetchPagesMax(), 1, kWindowMax);
  const bool is_first = window_ == 0;
  window_ = is_first ? 1 : std::min(most, std::max(kWindowMin, 2 * window_));
  if (is_first) return false;
  if (next_ < listed_.size()) {
    AskListed(tree);
    return false;
  }
  if (!is_listing_) from_.assign(bound.begin(), bound.end());
  if (from_.empty()) ahead_ = 0;  // the last leaf was asked for
  return !from_.empty();
}

void LeavesAhead::List(const Tree& tree) {
  PageGuard parent;
  ChildChoice choice;
  const bool forward = direction_ == Direction::kForward;
  const DescentTarget target{forward ? Aim::kOwner : Aim::kBefore, from_};
  std::vector<std::byte> lower;
  Descent descent(tree);
  descent.TrackLowerBound(&lower);
  if (!descent.ToLeafParent(target, &parent, &choice).ok()) return Restart();
  const NodeView node({parent.page(), tree.pool()->page_size_bytes()});
  listed_.clear();
  next_ = 0;
  if (forward) {
    ListForward(node, choice.index);
  } else {
    ListBackward(node, choice.index, descent.has_lower() ? Bytes(lower) : Bytes());
  }
  is_listing_ = true;
  parent.Release();
  AskListed(tree);
}

void LeavesAhead::ListForward(const NodeView& parent, size_t first) {
  // The walk itself reads the leaf that it waits for.
  if (!is_listing_) ++first;
  const size_t end = std::min(parent.ChildCount(), first + kListedMax);
  for (size_t child = first; child < end; ++child) listed_.push_back(parent.Child(child));
  if (!MapWalk::UpperBound(parent, std::max(end, size_t{1}) - 1, &from_)) from_.clear();
}

void LeavesAhead::ListBackward(const NodeView& parent, size_t last, Bytes parent_lower) {
  const size_t end = is_listing_ ? last + 1 : last;
  const size_t begin = end - std::min(end, kListedMax);
  for (size_t child = end; child > begin; --child) listed_.push_back(parent.Child(child - 1));
  if (begin != 0) {
    AssembleKey(parent, begin - 1, &from_);
  } else {
    from_.assign(parent_lower.begin(), parent_lower.end());
  }
}

void LeavesAhead::AskListed(const Tree& tree) {
  std::array<PageId, kWindowMax> absent;
  size_t count = 0;
  const size_t end = std::min(listed_.size(), next_ + window_);
  ahead_ += static_cast<uint32_t>(end - next_);
  for (; next_ < end; ++next_) {
    const PageId id{tree.space(), listed_[next_]};
    if (!tree.pool()->IsResident(id)) absent[count++] = id;
  }
  if (count == 0) return Restart();
  tree.pool()->Prefetch({absent.data(), count});
}

}  // namespace rowan
