// SPDX-License-Identifier: GPL-2.0-only
#include "btree/leaf_sample.h"

#include <algorithm>
#include <utility>

#include "btree/cursor.h"
#include "btree/map_walk.h"

namespace rowan {
namespace {

/// Writers intervene, and a small pool evicts a parent before its child is there: other leaves are
/// tried instead, but not for ever.
constexpr uint32_t kRestartsPerLeaf = 4;

}  // namespace

Status LeafSample::Next() {
  while (!done_) {
    if (bound_unknown_) {
      const Status passed = PassLeaf();
      if (!passed.ok()) return passed;
      continue;
    }
    PageGuard parent;
    ChildChoice choice;
    const Status status = descent_.ToLeafParent({Aim::kOwner, next_}, &parent, &choice);
    if (status.Is(Code::kNotFound)) {  // a single leaf
      from_ = next_;
      end_.clear();
      done_ = true;
      return Status::Ok();
    }
    if (!status.ok()) return status;
    if (Draw(NodeView({parent.page(), tree_->pool()->page_size_bytes()}), choice.index)) {
      return Status::Ok();
    }
  }
  if (!open_) return Status(Code::kEndOfRange);
  open_ = false;
  end_.clear();
  return Status::Ok();
}

bool LeafSample::Draw(const NodeView& parent, size_t child) {
  for (; child < parent.ChildCount(); ++child) {
    const bool chosen = random_->Fraction() < share_;
    if (chosen && !open_) from_ = next_;
    const bool ends = open_ && !chosen;
    if (ends) end_ = next_;
    open_ = chosen;
    bound_unknown_ = !MapWalk::UpperBound(parent, child, &bound_);
    if (bound_unknown_) return ends;
    done_ = bound_.empty();
    if (!done_) next_.swap(bound_);
    if (ends || done_) return ends;
  }
  return false;
}

Status LeafSample::PassLeaf() {
  bound_unknown_ = false;
  Cursor cursor(tree_, FixHint::kScan);
  Status status = cursor.SeekAtLeast(next_);
  if (status.ok()) {
    cursor.MoveTo(static_cast<uint16_t>(cursor.leaf_entries() - 1));
    status = cursor.Next();
  }
  if (status.ok()) {
    const Bytes key = cursor.key();
    next_.assign(key.begin(), key.end());
    return status;
  }
  done_ = status.Is(Code::kEndOfRange);
  return done_ ? Status::Ok() : status;
}

std::vector<KeyBuffer> SampleLeaves(Tree* tree, uint32_t count, Random* random,
                                    FunctionRef<bool()> interrupted) {
  std::vector<KeyBuffer> keys;
  uint32_t restarts_left = kRestartsPerLeaf * count;
  for (uint32_t i = 0; i < count && !(interrupted && interrupted());) {
    KeyBuffer key;
    const Status status = tree->SampleLeaf(random->Next(), &key);
    if (status.Is(Code::kRestart) && restarts_left > 0) {
      --restarts_left;
      continue;
    }
    if (status.ok()) keys.push_back(std::move(key));
    ++i;
  }
  std::sort(keys.begin(), keys.end(),
            [](Bytes left, Bytes right) { return CompareBytes(left, right) < 0; });
  keys.erase(std::unique(keys.begin(), keys.end()), keys.end());
  return keys;
}

}  // namespace rowan
