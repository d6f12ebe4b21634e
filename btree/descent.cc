// SPDX-License-Identifier: GPL-2.0-only
#include "btree/descent.h"

#include <thread>

#include "base/counters.h"
#include "btree/node.h"

namespace rowan {
namespace {

/// After so many restarts in a row a writer has probably lost its processor: let it run.
constexpr uint32_t kRestartsBeforeYield = 8;

void CountRestart(uint32_t restarts) {
  AddCounter(Counter::kTreeRestarts);
  if (restarts >= kRestartsBeforeYield) std::this_thread::yield();
}

}  // namespace

bool IsLeafOf(Bytes page, IndexId index) {
  const NodeView node(page);
  return node.HeaderIsSane() && node.is_leaf() && PageIndexOf(page.data()) == index;
}

Status Descent::ToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf) {
  for (uint32_t restarts = 0;; ++restarts) {
    const Status status = TryToLeaf(target, mode, leaf);
    if (!status.Is(Code::kRestart)) return status;
    CountRestart(restarts);
  }
}

Status Descent::ToLeafNearby(Bytes key, LatchMode mode, PageGuard* leaf) {
  const DescentTarget target{Aim::kOwner, key};
  if (parent_.frame != nullptr && UnlatchedCovers(Whole(parent_), key)) {
    const Status status = TryFromParent(target, mode, leaf);
    if (!status.ok() && !status.Is(Code::kRestart)) return status;
    if (status.ok() && leaf->held()) {
      AddCounter(Counter::kLeafSeeksLocal);
      return Status::Ok();
    }
  }
  AddCounter(Counter::kLeafSeeksDescend);
  return ToLeaf(target, mode, leaf);
}

Status Descent::TryFromParent(const DescentTarget& target, LatchMode mode, PageGuard* leaf) {
  Step step{parent_, parent_id_, {}};
  const Status status = Choose(target, &step);
  if (!status.ok() || step.choice.level != 1) return status;
  return LatchLeaf(step, mode, leaf);
}

Status Descent::TryToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf) {
  if (path_ != nullptr) path_->clear();
  has_lower_ = false;
  Step step;
  Status status = FixRoot(target, &step);
  if (!status.ok()) return status;
  root_level_ = step.choice.level;
  if (step.choice.level == 0) return LatchRootLeaf(mode, leaf);
  while (step.choice.level > 1) {
    status = StepDown(target, &step);
    if (!status.ok()) return status;
  }
  status = LatchLeaf(step, mode, leaf);
  if (!status.ok()) return status;
  parent_ = step.page;
  parent_id_ = step.id;
  return Status::Ok();
}

Status Descent::FixRoot(const DescentTarget& target, Step* step) {
  step->id = Id(tree_->root());
  const Status status = tree_->pool()->FixOptimistic(step->id, FixHint::kNormal, &step->page);
  if (!status.ok()) return status;
  return Choose(target, step);
}

/// Reads the step's page; ENSURES that what was read is consistent.
Status Descent::Choose(const DescentTarget& target, Step* step) {
  const Bytes page = Whole(step->page);
  step->choice = UnlatchedChooseChild(page, tree_->index(), target.aim, target.key);
  const bool inner = step->choice.level > 0;
  if (lower_ != nullptr && inner && step->choice.index > 0) {
    // A deeper bound replaces a higher one; a restart begins anew.
    UnlatchedCopyKey(page, static_cast<uint16_t>(step->choice.index - 1), lower_);
    has_lower_ = true;
  }
  if (!step->page.Validate()) return Status(Code::kRestart);
  const ChildChoice& choice = step->choice;
  if (!choice.is_node) return Damaged(step->page, step->id, "it is not a node of its index");
  if (choice.level >= kLevelsMax)
    return Damaged(step->page, step->id, "it has an impossible level");
  if (inner && (choice.child == kNoPage || choice.child == tree_->root())) {
    return Damaged(step->page, step->id, "it has an impossible child");
  }
  if (path_ != nullptr && inner) path_->push_back(choice);
  return Status::Ok();
}

Status Descent::StepDown(const DescentTarget& target, Step* step) {
  Step next;
  next.id = Id(step->choice.child);
  BufferPool* pool = tree_->pool();
  const Status fixed = pool->FixOptimistic(next.id, FixHint::kSpeculative, &next.page);
  if (!fixed.ok()) {
    if (!step->page.Validate()) return Status(Code::kRestart);
    return fixed.Is(Code::kCorrupt) ? Unreadable(next.id) : fixed;
  }
  // Now `next.page` has its version: if the parent still stands, that version is of the right node.
  if (!step->page.Validate()) return Status(Code::kRestart);
  const Status status = Choose(target, &next);
  if (!status.ok()) return status;
  if (next.choice.level + 1 != step->choice.level) {
    return Damaged(next.page, next.id, "it is on another level than its parent says");
  }
  *step = next;
  return Status::Ok();
}

Status Descent::LatchLeaf(const Step& parent, LatchMode mode, PageGuard* leaf) {
  BufferPool* pool = tree_->pool();
  const PageId id = Id(parent.choice.child);
  Result<PageGuard> guard = pool->Fix(id, mode, FixHint::kSpeculative);
  if (!parent.page.Validate()) return Status(Code::kRestart);
  if (!guard.ok()) return guard.status().Is(Code::kCorrupt) ? Unreadable(id) : guard.status();
  if (!IsLeafOf({guard->page(), pool->page_size_bytes()}, tree_->index())) {
    return tree_->ReportDamage(id.page, "it is not a leaf of its index");
  }
  *leaf = std::move(*guard);
  return Status::Ok();
}

Status Descent::LatchRootLeaf(LatchMode mode, PageGuard* leaf) {
  const PageId id = Id(tree_->root());
  Result<PageGuard> guard = tree_->pool()->Fix(id, mode, FixHint::kNormal);
  if (!guard.ok()) return guard.status();
  const Bytes page(guard->page(), tree_->pool()->page_size_bytes());
  if (NodeView(page).level() != 0) return Status(Code::kRestart);  // the root was split meanwhile
  if (!IsLeafOf(page, tree_->index())) {
    return tree_->ReportDamage(id.page, "it is not the root of its index");
  }
  *leaf = std::move(*guard);
  parent_.frame = nullptr;
  return Status::Ok();
}

Status Descent::ToLevel(Bytes key, uint8_t level, OptimisticPage* parent, OptimisticPage* node,
                        ChildChoice* choice) {
  const DescentTarget target{Aim::kOwner, key};
  Step step;
  Status status = FixRoot(target, &step);
  if (!status.ok()) return status;
  root_level_ = step.choice.level;
  if (root_level_ <= level) return Status(Code::kNotFound);
  while (step.choice.level > level + 1) {
    status = StepDown(target, &step);
    if (!status.ok()) return status;
  }
  BufferPool* pool = tree_->pool();
  status = pool->FixOptimistic(Id(step.choice.child), FixHint::kSpeculative, node);
  if (!step.page.Validate()) return Status(Code::kRestart);
  if (!status.ok()) return status.Is(Code::kCorrupt) ? Unreadable(Id(step.choice.child)) : status;
  *parent = step.page;
  *choice = step.choice;
  return Status::Ok();
}

/// A page that is really referred to, and was damaged when it was read without being sure of that:
/// it is read once more, so that the sentence says what is wrong.
Status Descent::Unreadable(PageId id) {
  const Result<PageGuard> again = tree_->pool()->Fix(id, LatchMode::kShared);
  return again.ok() ? Status(Code::kRestart) : again.status();
}

/// A page whose content is impossible: only real if it can still be seen.
Status Descent::Damaged(const OptimisticPage& source, PageId id, const char* what) {
  if (!source.Validate()) return Status(Code::kRestart);
  return tree_->ReportDamage(id.page, what);
}

}  // namespace rowan
