// SPDX-License-Identifier: GPL-2.0-only
#include "btree/leaves_ahead.h"

#include <algorithm>
#include <array>

#include "btree/descent.h"
#include "btree/map_walk.h"

namespace rowan {
namespace {

/// A queue that keeps a disk busy, and half of what ReadAhead reads at a time.
constexpr uint32_t kWindowMax = 32;
/// A walk that has waited twice goes on, as a rule.
constexpr uint32_t kWindowMin = 2;
/// More children are not copied while their parent is latched.
constexpr size_t kListedMax = 512;

}  // namespace

bool LeavesAhead::Ask(const Tree& tree, const NodeView& leaf) {
  const uint32_t most = std::clamp<uint32_t>(tree.pool()->PrefetchPagesMax(), 1, kWindowMax);
  const bool is_first = window_ == 0;
  window_ = is_first ? 1 : std::min(most, std::max(kWindowMin, 2 * window_));
  if (is_first) return false;
  if (next_ < listed_.size()) {
    AskListed(tree);
    return false;
  }
  if (!is_listing_) {
    from_.clear();
    if (leaf.has_high_key()) from_.assign(leaf.high_key().begin(), leaf.high_key().end());
  }
  if (from_.empty()) ahead_ = 0;  // the last leaf was asked for
  return !from_.empty();
}

void LeavesAhead::List(const Tree& tree) {
  PageGuard parent;
  ChildChoice choice;
  const DescentTarget target{Aim::kOwner, from_};
  if (!Descent(tree).ToLeafParent(target, &parent, &choice).ok()) return Restart();
  ListChildren(NodeView({parent.page(), tree.pool()->page_size_bytes()}), choice.index);
  parent.Release();
  AskListed(tree);
}

void LeavesAhead::ListChildren(const NodeView& parent, size_t first) {
  // The walk itself reads the leaf that it waits for.
  if (!is_listing_) ++first;
  const size_t end = std::min(parent.ChildCount(), first + kListedMax);
  listed_.clear();
  next_ = 0;
  for (size_t child = first; child < end; ++child) listed_.push_back(parent.Child(child));
  is_listing_ = true;
  if (!MapWalk::UpperBound(parent, std::max(end, size_t{1}) - 1, &from_)) from_.clear();
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
