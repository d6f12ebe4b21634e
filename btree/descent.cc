// SPDX-License-Identifier: GPL-2.0-only
#include "btree/descent.h"

#include <thread>

#include "base/counters.h"
#include "btree/node.h"

namespace rowan {
namespace {

/// After this many restarts in a row a writer has probably lost its processor: let it run.
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

Status Descent::ToLeafNearby(const DescentTarget& target, LatchMode mode, PageGuard* leaf) {
  for (uint8_t level = 1; level <= ancestors_->levels(); ++level) {
    const uint16_t child_before = ancestors_->child_index;
    const Status status = TryFromAncestor(target, level, mode, leaf);
    if (status.ok()) {
      const bool next = level == 1 && ancestors_->child_index == child_before + 1u;
      const bool from_root = level > 1 && level == ancestors_->root_level;
      way_ = next ? Way::kToNeighbour : (from_root ? Way::kDescended : Way::kClimbed);
      return status;
    }
    if (status.Is(Code::kRestart)) break;
    if (!status.Is(Code::kNotFound)) return status;
  }
  way_ = Way::kDescended;
  return ToLeaf(target, mode, leaf);
}

Status Descent::TryFromAncestor(const DescentTarget& target, uint8_t level, LatchMode mode,
                                PageGuard* leaf) {
  const Ancestors::Place& place = ancestors_->At(level);
  if (!place.page.Validate()) return Status(Code::kNotFound);
  Step step{place.page, place.id, {}};
  has_lower_ = false;
  const Status status = Choose(target, &step);
  if (status.Is(Code::kRestart)) return Status(Code::kNotFound);
  if (!status.ok()) return status;
  // Between two separators the target is certainly within; after the last one the page decides.
  const ChildChoice& choice = step.choice;
  if (level == ancestors_->root_level) return DownToLeaf(target, &step, mode, leaf);
  if (choice.index == 0) return Status(Code::kNotFound);
  if (choice.index + 1 == choice.children && !UnlatchedCovers(Whole(step.page), target.key)) {
    return Status(Code::kNotFound);
  }
  return DownToLeaf(target, &step, mode, leaf);
}

Descent::LowerBound Descent::LowerBoundOf(PageNumber leaf, Bytes key,
                                          std::vector<std::byte>* lower) {
  PageNumber below = leaf;
  for (uint8_t level = 1; level <= ancestors_->levels(); ++level) {
    const Ancestors::Place& place = ancestors_->At(level);
    const Bytes page = Whole(place.page);
    const ChildChoice choice = UnlatchedChooseChild(page, tree_->index(), Aim::kOwner, key);
    const bool found = choice.level == level && choice.index > 0;
    if (found) UnlatchedCopyKey(page, static_cast<uint16_t>(choice.index - 1), lower);
    if (!place.page.Validate() || choice.child != below) return LowerBound::kUnknown;
    if (found) return LowerBound::kKnown;
    below = place.id.page;
  }
  return below == tree_->root() ? LowerBound::kNone : LowerBound::kUnknown;
}

Status Descent::TryToLeaf(const DescentTarget& target, LatchMode mode, PageGuard* leaf) {
  if (path_ != nullptr) path_->clear();
  if (ancestors_ != nullptr) ancestors_->Clear();
  has_lower_ = false;
  Step step;
  Status status = FixRoot(target, &step);
  if (!status.ok()) return status;
  root_level_ = step.choice.level;
  if (step.choice.level == 0) return LatchRootLeaf(mode, leaf);
  status = DownToLeaf(target, &step, mode, leaf);
  if (status.ok() && ancestors_ != nullptr) ancestors_->root_level = root_level_;
  return status;
}

Status Descent::DownToLeaf(const DescentTarget& target, Step* step, LatchMode mode,
                           PageGuard* leaf) {
  if (ancestors_ != nullptr) Keep(*step);
  while (step->choice.level > 1) {
    const Status status = StepDown(target, step);
    if (!status.ok()) return status;
    if (ancestors_ != nullptr) Keep(*step);
  }
  return LatchLeaf(*step, mode, leaf);
}

bool Descent::TryToLeafUnlatched(Bytes key, PageNumber* number, OptimisticPage* leaf) {
  OwnerChild owner{};
  if (!TryKnownParent(key, &owner)) return TryFromRoot(key, number, leaf);
  *number = owner.child;
  // The parent still validates once the leaf's version is known: so that version is of the owner.
  if (!tree_->pool()->TryFixOptimistic(Id(*number), TreeLevel::kLeaf, leaf) ||
      !ancestors_->At(1).page.Validate()) {
    return false;
  }
  way_ = owner.index == ancestors_->child_index + 1 ? Way::kToNeighbour : Way::kClimbed;
  ancestors_->child_index = owner.index;
  return true;
}

PageNumber Descent::UnlatchedLeafOf(Bytes key) const {
  OwnerChild owner{};
  return TryKnownParent(key, &owner) ? owner.child : UnlatchedLeafFromRoot({Aim::kOwner, key});
}

PageNumber Descent::UnlatchedLeafBefore(PageNumber leaf, Bytes lower) const {
  const uint16_t index = ancestors_->child_index;
  if (ancestors_->root_level != 0 && index != 0) {
    const OptimisticPage& parent = ancestors_->places[0].page;
    const ChildChoice here = UnlatchedChild(Whole(parent), tree_->index(), index);
    const ChildChoice before = UnlatchedChild(Whole(parent), tree_->index(), index - 1u);
    if (parent.Validate() && here.child == leaf) return before.child;
  }
  return UnlatchedLeafFromRoot({Aim::kBefore, lower});
}

PageNumber Descent::UnlatchedLeafFromRoot(const DescentTarget& target) const {
  PageNumber number = tree_->root();
  for (uint8_t levels = 0; levels < kLevelsMax; ++levels) {
    OptimisticPage page;
    if (!tree_->pool()->TryFixOptimistic(Id(number), TreeLevel::kInner, &page)) return number;
    const ChildChoice choice =
        UnlatchedChooseChild(Whole(page), tree_->index(), target.aim, target.key);
    if (!page.Validate() || !choice.is_node || choice.level == 0) break;
    number = choice.child;
    if (choice.level == 1) return number;
  }
  return kNoPage;
}

/// An inner page that is unchanged since it was remembered is a sane node of its level. Whether it
/// is, is asked once its child's version is known.
bool Descent::TryKnownParent(Bytes key, OwnerChild* owner) const {
  if (ancestors_->root_level == 0) return false;
  const Ancestors::Place& place = ancestors_->At(1);
  *owner = UnlatchedOwner(Whole(place.page), key);
  return (owner->between || ancestors_->root_level == 1) && place.page.Validate();
}

bool Descent::TryFromRoot(Bytes key, PageNumber* number, OptimisticPage* leaf) {
  way_ = Way::kDescended;
  ancestors_->Clear();
  BufferPool* const pool = tree_->pool();
  Step step;
  step.id = Id(tree_->root());
  if (!pool->TryFixOptimistic(step.id, TreeLevel::kInner, &step.page)) return false;
  for (bool is_root = true;; is_root = false) {
    const uint8_t level_above = step.choice.level;
    step.choice = UnlatchedChooseChild(Whole(step.page), tree_->index(), Aim::kOwner, key);
    const uint8_t level = step.choice.level;
    const bool is_sane =
        step.choice.is_node && (is_root ? level < kLevelsMax : level + 1 == level_above);
    if (!step.page.Validate() || !is_sane) return false;
    if (is_root) root_level_ = level;
    if (level == 0) break;  // the root is the leaf
    Keep(step);
    // The same order as in StepDown: the child's version, then its parent again.
    const OptimisticPage parent = step.page;
    const TreeLevel below = level == 1 ? TreeLevel::kLeaf : TreeLevel::kInner;
    step.id = Id(step.choice.child);
    if (!pool->TryFixOptimistic(step.id, below, &step.page) || !parent.Validate()) return false;
    if (level > 1) continue;
    ancestors_->root_level = root_level_;
    break;
  }
  *number = step.id.page;
  *leaf = step.page;
  return true;
}

void Descent::Keep(const Step& step) {
  const uint8_t level = step.choice.level;
  if (level > Ancestors::kLevels) return;
  ancestors_->At(level) = {step.page, step.id};
  if (level == 1) ancestors_->child_index = step.choice.index;
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
  if (lower_ != nullptr && step->choice.level > lower_above_ && step->choice.index > 0) {
    // A deeper bound replaces a higher one; a restart begins again.
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
  // Now `next.page` has its version: if the parent still validates, that version is of the right
  // node.
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
  Result<PageGuard> guard = pool->Fix(id, mode, leaf_hint_);
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
  if (NodeView(page).level() != 0) return Status(Code::kRestart);  // the root was just split
  if (!IsLeafOf(page, tree_->index())) {
    return tree_->ReportDamage(id.page, "it is not the root of its index");
  }
  *leaf = std::move(*guard);
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

Status Descent::ToLeafParent(const DescentTarget& target, PageGuard* parent, ChildChoice* choice) {
  lower_above_ = 1;
  Status status(Code::kRestart);
  for (uint32_t restarts = 0; status.Is(Code::kRestart); ++restarts) {
    status = TryToLeafParent(target, parent, choice);
    if (status.Is(Code::kRestart)) CountRestart(restarts);
  }
  lower_above_ = 0;
  return status;
}

Status Descent::TryToLeafParent(const DescentTarget& target, PageGuard* parent,
                                ChildChoice* choice) {
  has_lower_ = false;
  Step step;
  Status status = FixRoot(target, &step);
  if (!status.ok()) return status;
  root_level_ = step.choice.level;
  if (root_level_ == 0) return Status(Code::kNotFound);
  while (step.choice.level > 1) {
    status = StepDown(target, &step);
    if (!status.ok()) return status;
  }
  Frame* frame = step.page.frame;
  if (!frame->latch.TryShareFromOptimistic(step.page.version)) return Status(Code::kRestart);
  *parent = PageGuard(frame, const_cast<std::byte*>(step.page.page), LatchMode::kShared);
  *choice = step.choice;
  return Status::Ok();
}

/// A page that really is referenced, and was damaged when read before that was certain: it is read
/// once more, so that the log message says what is wrong.
Status Descent::Unreadable(PageId id) {
  const Result<PageGuard> again = tree_->pool()->Fix(id, LatchMode::kShared);
  return again.ok() ? Status(Code::kRestart) : again.status();
}

/// A page whose content is impossible: the damage is real only if it can still be seen.
Status Descent::Damaged(const OptimisticPage& source, PageId id, const char* what) {
  if (!source.Validate()) return Status(Code::kRestart);
  return tree_->ReportDamage(id.page, what);
}

}  // namespace rowan
