// SPDX-License-Identifier: GPL-2.0-only
// Making a tree smaller: merging siblings, pulling the root down, freeing a whole tree. Each step
// is one mini-transaction; a merge moves the right node's entries into the left one and frees the
// right page. A page merged away gets a new version, so a cursor that remembers it is not misled.
//
// Latches of a merge: parent, left node, right node, bitmap page.
#include <algorithm>
#include <array>

#include "base/assertions.h"
#include "base/counters.h"
#include "btree/descent.h"
#include "btree/node.h"
#include "btree/node_edit.h"
#include "btree/node_log.h"
#include "btree/node_split.h"
#include "btree/tree.h"
#include "btree/tree_internal.h"

namespace rowan {
namespace {

/// A node fuller than this is not merged: three fifths, so that an inner node with a single
/// separator of the largest size still counts as small.
constexpr size_t SmallBytes(size_t page_bytes) { return page_bytes / 5 * 3; }
/// Into an empty first leaf only a right neighbour this empty is moved: when entries are removed in
/// ascending order the neighbour will soon be empty itself, and then costs next to nothing.
constexpr size_t kMoveLeftShare = 4;

uint32_t MergeLogBytes(uint32_t page_bytes) { return LoadRecordBytesMax(page_bytes) + 1024; }

/// What a merge of two neighbours would look like.
struct MergePlan {
  bool possible = false;
  bool rebound_only = false;  ///< the right leaf is empty: the left one just takes over its range
  NodeBounds bounds;
};

MergePlan PlanMerge(const NodeView& left, const NodeView& right, size_t separator_bytes) {
  ROWAN_DCHECK(left.level() == right.level() && !left.rightmost());
  MergePlan plan;
  const size_t page_bytes = left.page().size();
  // The lower bound starts with the left prefix, the upper one with the right prefix.
  const size_t prefix = CommonPrefix(left.prefix(), right.prefix());
  plan.bounds.prefix = left.prefix().first(prefix);
  plan.bounds.rightmost = right.rightmost();
  plan.bounds.right = right.right();
  if (right.has_high_key()) plan.bounds.high = right.high_key();
  if (left.is_leaf() && right.count() == 0) {
    plan.rebound_only = true;
    plan.possible = FitsAfterSplitOrWithoutHighKey(left, left.count(), &plan.bounds);
    return plan;
  }
  const auto body = [&](const NodeView& node) {
    return page_bytes - node.TotalFree() - node_layout::kSlots - node.fence_bytes() +
           node.count() * (node.prefix_length() - prefix);
  };
  size_t used =
      node_layout::kSlots + std::max(prefix, plan.bounds.high.size()) + body(left) + body(right);
  if (!left.is_leaf()) used += left.EntryBytes(separator_bytes, 4);
  // Two of the largest separators fill a page. Nodes of so few are merged all the same: with one
  // child they would never become fewer.
  const bool huge_separators = !left.is_leaf() && left.count() + right.count() <= 1;
  plan.possible = used <= (huge_separators ? page_bytes : page_bytes / 5 * 4);
  if (left.is_leaf() && left.count() == 0) {
    plan.possible = plan.possible && page_bytes - right.TotalFree() <= page_bytes / kMoveLeftShare;
  }
  return plan;
}

}  // namespace

Status Tree::MergeIfSmall(Bytes key) {
  ReserveNodeScratch();
  for (uint8_t level = 0; level < kLevelsMax;) {
    MergeOutcome outcome = MergeOutcome::kNothing;
    const Status status = MergeAtLevel(key, level, &outcome);
    if (status.Is(Code::kRestart)) return Status::Ok();  // contended: a later removal tries again
    if (!status.ok() || outcome == MergeOutcome::kNothing) return status;
    // Parents that merged made neighbours of nodes below that had none. Each merge frees a page, so
    // this comes to an end.
    const bool look_below = level > 0 && outcome == MergeOutcome::kMerged;
    level = static_cast<uint8_t>(look_below ? level - 1 : level + 1);
  }
  return Status::Ok();
}

Status Tree::MergeAtLevel(Bytes key, uint8_t level, MergeOutcome* outcome) {
  Status status = MergeWithPartner(key, level, 0, outcome);
  if (!status.ok() || *outcome != MergeOutcome::kTryOther) return status;
  *outcome = MergeOutcome::kNothing;
  status = MergeWithPartner(key, level, 1, outcome);
  if (*outcome == MergeOutcome::kTryOther) *outcome = MergeOutcome::kNothing;
  return status;
}

/// Tries one of the node's two neighbours after finding it again: trying the other one gave the
/// parent a new version.
Status Tree::MergeWithPartner(Bytes key, uint8_t level, size_t which, MergeOutcome* outcome) {
  Descent descent(*this);
  OptimisticPage parent;
  OptimisticPage node;
  ChildChoice choice;
  Status status = descent.ToLevel(key, level, &parent, &node, &choice);
  if (status.Is(Code::kNotFound)) {
    return level > 0 && descent.root_level() == level ? CollapseRoot() : Status::Ok();
  }
  if (!status.ok()) return status;
  const uint32_t page_bytes = pool()->page_size_bytes();
  const NodeUse use = UnlatchedUse({node.page, page_bytes});
  if (!node.Validate()) return Status(Code::kRestart);
  if (use.used_bytes > SmallBytes(page_bytes)) return Status::Ok();
  // An only child has no sibling below the same parent: then it is the parent that should be
  // merged.
  if (choice.children == 1) {
    *outcome = MergeOutcome::kLookAbove;
    return Status::Ok();
  }
  *outcome = MergeOutcome::kTryOther;
  // An empty leaf costs least as the right partner.
  const bool right_first = use.count != 0;
  const int left_index = choice.index - (right_first == (which == 0) ? 0 : 1);
  if (left_index < 0 || left_index + 1 >= choice.children) return Status::Ok();
  MiniTxn mini_txn(pool());
  status = mini_txn.Start(MergeLogBytes(page_bytes));
  if (!status.ok()) return status;
  bool merged = false;
  status = MergePair(&mini_txn, parent, static_cast<uint16_t>(left_index), &merged);
  if (mini_txn.has_changes()) mini_txn.Commit();
  if (merged) *outcome = MergeOutcome::kMerged;
  return status;
}

/// Merges children `left_index` and the next one. *merged stays false if they do not fit.
Status Tree::MergePair(MiniTxn* mini_txn, const OptimisticPage& parent, uint16_t left_index,
                       bool* merged) {
  const uint32_t page_bytes = pool()->page_size_bytes();
  const Bytes parent_page(parent.page, page_bytes);
  std::array<OptimisticPage, 2> pages;
  std::array<PageNumber, 2> numbers;
  for (uint16_t i = 0; i < 2; ++i) {
    // Read into memory before anything is latched.
    numbers[i] = UnlatchedChild(parent_page, index_, left_index + i).child;
    if (!parent.Validate()) return Status(Code::kRestart);
    const Status fixed = pool()->FixOptimistic(Id(numbers[i]), FixHint::kSpeculative, &pages[i]);
    if (!parent.Validate()) return Status(Code::kRestart);
    if (!fixed.ok()) return fixed;
  }
  if (!parent.frame->latch.TryUpgradeFromOptimistic(parent.version)) return Status(Code::kRestart);
  const MutablePage above = AdoptLatched(mini_txn, parent);
  Result<MutablePage> left_page = LatchAgain(mini_txn, pages[0], numbers[0]);
  if (!left_page.ok()) return left_page.status();
  Result<MutablePage> right_page = LatchAgain(mini_txn, pages[1], numbers[1]);
  if (!right_page.ok()) return right_page.status();

  const NodeView left = ViewOf(*mini_txn, *left_page);
  const NodeView right = ViewOf(*mini_txn, *right_page);
  const NodeView top = ViewOf(*mini_txn, above);
  ROWAN_DCHECK(left_index + 1u < top.ChildCount());
  ROWAN_DCHECK(top.Child(left_index) == left_page->id.page);
  ROWAN_DCHECK(top.Child(left_index + 1u) == right_page->id.page);
  if (!left.HeaderIsSane() || !right.HeaderIsSane() || left.level() != right.level()) {
    return ReportDamage(right_page->id.page, "it is not the sibling its parent says");
  }
  KeyBuffer separator;
  AssembleKey(top, left_index, &separator);
  const MergePlan plan = PlanMerge(left, right, separator.size());
  if (!plan.possible) return Status::Ok();
  // The only step that can fail comes before anything is logged.
  const Status freed = allocator_->Free(mini_txn, right_page->id);
  if (!freed.ok()) return freed;
  if (plan.rebound_only) {
    LogReboundNode(mini_txn, *left_page, left.count(), plan.bounds);
  } else {
    const MutableBytes image = NodeScratch(Scratch::kCaller, page_bytes);
    NodeBuilder builder(image,
                        {left_page->id, index_, left.level(), left.first_child(),
                         std::max(left.newest_change(), right.newest_change())},
                        plan.bounds);
    ROWAN_CHECK(builder.AppendFrom(left, 0, left.count()));
    if (!left.is_leaf()) {
      std::array<std::byte, 4> child;
      StoreLe<uint32_t>(child.data(), right.first_child().value());
      ROWAN_CHECK(builder.Append(separator, {}, child));
    }
    ROWAN_CHECK(builder.AppendFrom(right, 0, right.count()));
    LogLoadNode(mini_txn, *left_page, image);
  }
  LogRemoveEntry(mini_txn, above, left_index);
  if (left.is_leaf()) NoteLeaf(left_page->id.page, left);
  leaf_map_.Forget(right_page->id.page);
  mini_txn->DiscardAtCommit(*right_page);
  AddCounter(Counter::kTreeMerges);
  *merged = true;
  return Status::Ok();
}

/// An inner root with one child takes over the child's content.
Status Tree::CollapseRoot() {
  const uint32_t page_bytes = pool()->page_size_bytes();
  MiniTxn mini_txn(pool());
  Status status = mini_txn.Start(MergeLogBytes(page_bytes));
  if (!status.ok()) return status;
  OptimisticPage root;
  status = pool()->FixOptimistic(Id(root_), FixHint::kNormal, &root);
  if (!status.ok()) return status;
  const ChildChoice choice = UnlatchedChild({root.page, page_bytes}, index_, 0);
  if (!root.Validate() || choice.level == 0 || choice.children != 1) return Status::Ok();
  OptimisticPage only;
  const Status fixed = pool()->FixOptimistic(Id(choice.child), FixHint::kSpeculative, &only);
  if (!root.Validate()) return Status::Ok();
  if (!fixed.ok()) return fixed;
  if (!root.frame->latch.TryUpgradeFromOptimistic(root.version)) return Status::Ok();
  const MutablePage top = AdoptLatched(&mini_txn, root);
  Result<MutablePage> child = LatchAgain(&mini_txn, only, choice.child);
  if (!child.ok()) return Status::Ok();
  const NodeView node = ViewOf(mini_txn, *child);
  const bool whole_range = node.HeaderIsSane() && node.rightmost() && node.prefix_length() == 0;
  if (!whole_range) return Status::Ok();
  status = allocator_->Free(&mini_txn, child->id);
  if (!status.ok()) return status;
  NodeBounds bounds;
  bounds.rightmost = true;
  const MutableBytes image = NodeScratch(Scratch::kCaller, page_bytes);
  NodeBuilder builder(
      image, {top.id, index_, node.level(), node.first_child(), node.newest_change()}, bounds);
  ROWAN_CHECK(builder.AppendFrom(node, 0, node.count()));
  LogLoadNode(&mini_txn, top, image);
  leaf_map_.Forget(child->id.page);
  mini_txn.DiscardAtCommit(*child);
  mini_txn.Commit();
  AddCounter(Counter::kTreeMerges);
  return Status::Ok();
}

Status Tree::Destroy(WorkBudget* budget) {
  {
    // Repeated after a crash, the root may be gone, or be another tree's page by now.
    Result<PageGuard> root = allocator_->FixInUse(Id(root_));
    if (root.status().Is(Code::kNotFound)) return Status::Ok();
    if (!root.ok()) return root.status();
    if (PageTypeOf(root->page()) != PageType::kTreeNode || PageIndexOf(root->page()) != index_) {
      return Status::Ok();
    }
  }
  Status status = FreeChildren(root_, budget);
  if (!status.ok()) return status;
  MiniTxn mini_txn(pool());
  status = mini_txn.Start(256);
  if (!status.ok()) return status;
  Result<MutablePage> root = mini_txn.Fix(Id(root_));
  if (!root.ok()) return root.status();
  status = allocator_->Free(&mini_txn, Id(root_));
  if (!status.ok()) return status;
  mini_txn.DiscardAtCommit(*root);
  mini_txn.Commit();
  return Status::Ok();
}

/// Frees everything below a node, last child first, and leaves it an empty leaf. Whatever a crash
/// leaves is a smaller tree that Destroy can be called on again.
Status Tree::FreeChildren(PageNumber page, WorkBudget* budget) {
  for (;;) {
    PageNumber last;
    uint8_t level = 0;
    {
      Result<PageGuard> guard = pool()->Fix(Id(page), LatchMode::kShared, FixHint::kScan);
      if (!guard.ok()) return guard.status();
      const NodeView node({guard->page(), pool()->page_size_bytes()});
      level = node.level();
      if (level == 0) return Status::Ok();
      last = node.Child(node.count());
    }
    if (level > 1) {
      const Status status = FreeChildren(last, budget);
      if (!status.ok()) return status;
    }
    MiniTxn mini_txn(pool());
    Status status = mini_txn.Start(256);
    if (!status.ok()) return status;
    Result<MutablePage> node = mini_txn.Fix(Id(page));
    if (!node.ok()) return node.status();
    status = allocator_->Free(&mini_txn, Id(last));
    if (!status.ok()) return status;
    leaf_map_.Forget(last);
    const size_t count = ViewOf(mini_txn, *node).count();
    if (count > 0) {
      LogRemoveEntry(&mini_txn, *node, count - 1);
    } else {
      LogInitNode(&mini_txn, *node, index_, 0);
    }
    mini_txn.Commit();
    if (!budget->Spend()) return Status(Code::kBusy, "the rest of a tree is freed later");
  }
}

}  // namespace rowan
