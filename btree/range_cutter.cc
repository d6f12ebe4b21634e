// SPDX-License-Identifier: GPL-2.0-only
#include "btree/range_cutter.h"

#include <algorithm>

#include "btree/cursor.h"
#include "btree/map_walk.h"

namespace rowan {
namespace {

/// So that a tree of two levels has pieces enough, too. Of full parents these are some 20 leaves,
/// which take a hundred times as long to read as the way to them.
constexpr size_t kPiecesOfParent = 16;

}  // namespace

Status RangeCutter::Next() {
  if (done_) return Status(Code::kEndOfRange);
  from_ = next_;
  const Status status = FindEnd();
  if (!status.ok()) return status;
  const bool is_last =
      next_.empty() || (!range_end_.empty() && CompareBytes(next_, range_end_) >= 0);
  if (!is_last) return status;
  next_ = range_end_;
  done_ = true;
  return status;
}

Status RangeCutter::FindEnd() {
  PageGuard parent;
  ChildChoice choice;
  const Status status = descent_.ToLeafParent({Aim::kOwner, from_}, &parent, &choice);
  if (status.Is(Code::kNotFound)) {  // a single leaf
    next_.clear();
    return Status::Ok();
  }
  if (!status.ok()) return status;
  const NodeView node({parent.page(), tree_->pool()->page_size_bytes()});
  const size_t children = node.ChildCount();
  const size_t leaves = std::max<size_t>(1, children / kPiecesOfParent);
  const size_t last = std::min(choice.index + leaves, children) - 1;
  if (MapWalk::UpperBound(node, last, &next_)) return status;
  if (last > choice.index) {
    AssembleKey(node, last - 1, &next_);
    return status;
  }
  parent.Release();
  return PassLeaf();
}

Status RangeCutter::PassLeaf() {
  Cursor cursor(tree_, FixHint::kScan);
  Status status = cursor.SeekAtLeast(from_);
  if (status.ok()) {
    cursor.MoveTo(static_cast<uint16_t>(cursor.leaf_entries() - 1));
    status = cursor.Next();
  }
  next_.clear();
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  const Bytes key = cursor.key();
  next_.assign(key.begin(), key.end());
  return status;
}

}  // namespace rowan
