// SPDX-License-Identifier: GPL-2.0-only
#include "btree/map_walk.h"

#include "base/counters.h"
#include "btree/node_search.h"

namespace rowan {

void MapWalk::Start(Bytes from, Bytes end) {
  from_.assign(from.begin(), from.end());
  end_.assign(end.begin(), end.end());
  done_ = false;
  has_stretch_ = false;
  CheckDone();
}

void MapWalk::Visited() {
  has_stretch_ = false;
  if (forward_) {
    done_ = stretch_end_.empty();
    from_.swap(stretch_end_);
  } else {
    done_ = stretch_from_.empty();
    end_.swap(stretch_from_);
  }
  CheckDone();
}

void MapWalk::CheckDone() {
  if (!end_.empty() && CompareBytes(from_, end_) >= 0) done_ = true;
}

Status MapWalk::Walk(Pass pass, uint64_t entries_max) {
  forward_ = pass == &MapWalk::PassForward;
  entries_ = 0;
  leaves_ = 0;
  entries_max_ = entries_max;
  while (!done_ && !has_stretch_) {
    DescentTarget target{Aim::kOwner, from_};
    if (!forward_) target = {end_.empty() ? Aim::kLast : Aim::kBefore, end_};
    descent_.TrackLowerBound(&parent_lower_);
    PageGuard parent;
    ChildChoice choice;
    const Status status = descent_.ToLeafParent(target, &parent, &choice);
    if (status.Is(Code::kNotFound)) {  // a single leaf
      has_stretch_ = true;
      stretch_from_ = from_;
      stretch_end_ = end_;
      return Status::Ok();
    }
    if (!status.ok()) return status;
    if (!descent_.has_lower()) parent_lower_.clear();
    (this->*pass)(NodeView({parent.page(), tree_->pool()->page_size_bytes()}), choice.index);
  }
  if (leaves_ != 0) AddCounter(Counter::kLeavesNotVisited, leaves_);
  return Status::Ok();
}

bool MapWalk::TryPass(const NodeView& parent, size_t child) {
  const LeafWord word = tree_->leaf_map().Get(parent.Child(child));
  if (!word.HoldsFor(low_txn_) || word.live() > entries_max_ - entries_) return false;
  entries_ += word.live();
  ++leaves_;
  return true;
}

void MapWalk::PassForward(const NodeView& parent, size_t child) {
  const size_t whole_end = WholeChildrenEnd(parent);
  size_t next = child;
  LowerBound(parent, child, &stretch_from_);
  if (EqualBytes(stretch_from_, from_)) {
    while (next < whole_end && TryPass(parent, next)) ++next;
  }
  if (next > child) {
    done_ = !UpperBound(parent, next - 1, &from_) || from_.empty();
    CheckDone();
    if (done_ || next == parent.ChildCount()) return;
  }
  // Adjacent leaves unknown to the map are visited in one go.
  const size_t first = next++;
  if (first < whole_end && !Holds(parent, first)) {
    while (next < whole_end && !Holds(parent, next)) ++next;
  }
  has_stretch_ = true;
  stretch_from_ = from_;
  const bool whole = next <= whole_end && UpperBound(parent, next - 1, &stretch_end_);
  if (!whole) stretch_end_ = end_;
}

void MapWalk::PassBackward(const NodeView& parent, size_t child) {
  const size_t whole_begin = WholeChildrenBegin(parent);
  size_t behind = child + 1;
  const bool known = UpperBound(parent, child, &stretch_end_);
  if (known && EqualBytes(stretch_end_, end_)) {
    while (behind > whole_begin && TryPass(parent, behind - 1)) --behind;
  }
  if (behind <= child) {
    LowerBound(parent, behind, &end_);
    done_ = end_.empty();
    CheckDone();
    if (done_ || behind == 0) return;
  }
  has_stretch_ = true;
  stretch_end_ = end_;
  if (behind - 1 >= whole_begin) {
    LowerBound(parent, behind - 1, &stretch_from_);
  } else {
    stretch_from_ = from_;
  }
}

size_t MapWalk::WholeChildrenEnd(const NodeView& parent) const {
  const size_t separators = parent.count();
  if (!end_.empty()) {
    const SlotSearch found = SearchNode(parent.page(), end_);
    if (found.slot < separators) return found.slot + (found.exact ? 1u : 0u);
  }
  if (parent.rightmost()) return separators + (end_.empty() ? 1 : 0);
  if (!parent.has_high_key()) return separators;
  const bool last_too = end_.empty() || CompareBytes(parent.high_key(), end_) <= 0;
  return separators + (last_too ? 1 : 0);
}

size_t MapWalk::WholeChildrenBegin(const NodeView& parent) const {
  if (from_.empty()) return 0;
  const size_t slot = SearchNode(parent.page(), from_).slot;
  const bool first_too =
      slot == 0 && !parent_lower_.empty() && CompareBytes(parent_lower_, from_) >= 0;
  return first_too ? 0 : slot + 1;
}

bool MapWalk::UpperBound(const NodeView& parent, size_t child, KeyBuffer* bound) {
  bound->clear();
  if (child < parent.count()) {
    AssembleKey(parent, child, bound);
    return true;
  }
  if (parent.rightmost()) return true;
  if (!parent.has_high_key()) return false;
  bound->assign(parent.high_key().begin(), parent.high_key().end());
  return true;
}

void MapWalk::LowerBound(const NodeView& parent, size_t child, KeyBuffer* bound) const {
  if (child == 0) {
    *bound = parent_lower_;
  } else {
    AssembleKey(parent, child - 1, bound);
  }
}

}  // namespace rowan
