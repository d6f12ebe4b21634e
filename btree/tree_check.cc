// SPDX-License-Identifier: GPL-2.0-only
// Tree::Check: visits every page with the bounds that its parents give it. Shared latches on the
// way down keep the part being checked unchanged, so the check may run concurrently with other
// work.
#include <optional>
#include <vector>

#include "btree/node.h"
#include "btree/node_check.h"
#include "btree/node_split.h"
#include "btree/tree.h"

namespace rowan {
namespace {

using Bound = std::optional<KeyBuffer>;

class Checker {
 public:
  Checker(const Tree& tree, Tree::Visit visit, Tree::PageVisit visit_page,
          Tree::IsDecided is_decided, FunctionRef<bool()> interrupted)
      : tree_(tree),
        visit_(visit),
        visit_page_(visit_page),
        is_decided_(is_decided),
        interrupted_(interrupted) {}

  Status Run() {
    const Status status = CheckNodeAt(tree_.root(), std::nullopt, {}, {});
    if (!status.ok()) return status;
    if (expected_leaf_.has_value() && *expected_leaf_ != kNoPage) {
      return Bad(previous_leaf_.id().page, "it is the last leaf but links to another one");
    }
    return Status::Ok();
  }

 private:
  [[nodiscard]] uint32_t page_bytes() const { return tree_.pool()->page_size_bytes(); }

  Status Bad(PageNumber page, const char* what) { return tree_.ReportDamage(page, what); }

  /// Recursion is as deep as the tree is high: a child's level is checked before it is entered.
  Status CheckNodeAt(PageNumber number, std::optional<uint8_t> level, const Bound& lower,
                     const Bound& upper) {
    if (interrupted_ && interrupted_()) return Status(Code::kInterrupted);
    const PageId id{tree_.space(), number};
    Result<PageGuard> guard = tree_.pool()->Fix(id, LatchMode::kShared, FixHint::kScan);
    if (!guard.ok()) return guard.status();
    const NodeView node({guard->page(), page_bytes()});
    const char* wrong = CheckNode(node.page());
    if (wrong == nullptr && PageIndexOf(guard->page()) != tree_.index()) {
      wrong = "it belongs to another index";
    }
    if (wrong == nullptr && level.has_value() && node.level() != *level) {
      wrong = "it is on another level than its parent says";
    }
    if (wrong == nullptr) wrong = CheckBounds(node, lower, upper);
    if (wrong != nullptr) return Bad(number, wrong);
    Result<bool> allocated = tree_.allocator()->IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    if (!*allocated) return Bad(number, "it is in a tree but marked as free");
    if (visit_page_) visit_page_(number);
    return node.is_leaf() ? CheckLeaf(std::move(*guard)) : CheckChildren(node, lower, upper);
  }

  static const char* CheckBounds(const NodeView& node, const Bound& lower, const Bound& upper) {
    if (node.rightmost() != !upper.has_value()) return "it is wrong about being right-most";
    if (upper.has_value() && node.has_high_key() && !EqualBytes(node.high_key(), *upper)) {
      return "it has another high key than its parent says";
    }
    const bool must_store = upper.has_value() && upper->size() <= kHighKeyBytesMax;
    if (must_store && !node.has_high_key() && !node.is_leaf()) {
      return "it lacks its high key";
    }
    const size_t prefix = node.prefix_length();
    const Bytes low = lower.has_value() ? Bytes(*lower) : Bytes();
    if (prefix > 0 && (low.size() < prefix || !EqualBytes(low.first(prefix), node.prefix()))) {
      return "it has a prefix that its lower bound lacks";
    }
    if (prefix > 0 &&
        (upper->size() < prefix || !EqualBytes(Bytes(*upper).first(prefix), node.prefix()))) {
      return "it has a prefix that its upper bound lacks";
    }
    if (node.count() == 0) return nullptr;
    KeyBuffer key;
    AssembleKey(node, 0, &key);
    if (CompareBytes(key, low) < 0) return "it has a key below its bounds";
    AssembleKey(node, node.count() - 1, &key);
    if (upper.has_value() && CompareBytes(key, *upper) >= 0) return "it has a key above its bounds";
    return nullptr;
  }

  Status CheckChildren(const NodeView& node, const Bound& lower, const Bound& upper) {
    Bound child_lower = lower;
    for (size_t index = 0; index < node.ChildCount(); ++index) {
      Bound child_upper = upper;
      if (index < node.count()) {
        child_upper.emplace();
        AssembleKey(node, index, &*child_upper);
      }
      const Status status = CheckNodeAt(node.Child(index), static_cast<uint8_t>(node.level() - 1),
                                        child_lower, child_upper);
      if (!status.ok()) return status;
      child_lower = std::move(child_upper);
    }
    return Status::Ok();
  }

  Status CheckLeaf(PageGuard guard) {
    const PageNumber number = guard.id().page;
    if (expected_leaf_.has_value() && *expected_leaf_ != number) {
      return Bad(previous_leaf_.id().page, "it does not link to the next leaf");
    }
    const NodeView leaf({guard.page(), page_bytes()});
    if (const char* wrong = CheckWord(number, leaf); wrong != nullptr) return Bad(number, wrong);
    expected_leaf_ = leaf.right();
    // Held until the next leaf is held: a split in between would look like a wrong link.
    previous_leaf_ = std::move(guard);
    if (!visit_) return Status::Ok();
    KeyBuffer key;
    for (size_t slot = 0; slot < leaf.count(); ++slot) {
      AssembleKey(leaf, slot, &key);
      const Status status = visit_(key, leaf.Value(slot));
      if (status.Is(Code::kCorrupt)) return Bad(number, status.message());
      if (!status.ok()) return status;
    }
    return Status::Ok();
  }

  /// What the visibility map says of a latched leaf.
  const char* CheckWord(PageNumber number, const NodeView& leaf) {
    const LeafWord noted = tree_.leaf_map().Get(number);
    TxnId stamp = leaf.newest_change();
    if (noted.known()) {
      const LeafWord seen = WordOf(leaf);
      if (number == tree_.root() || noted.live() != seen.live() || noted.clean() != seen.clean() ||
          noted.stamp() > seen.stamp()) {
        return "the visibility map says something else of it";
      }
      stamp = noted.stamp();
    }
    if (!is_decided_) return nullptr;
    for (size_t slot = 0; slot < leaf.count(); ++slot) {
      if (is_decided_(leaf.Value(slot), stamp)) continue;
      return noted.known() ? "the visibility map shows changes on it to who must not see them"
                           : "it has a change that is newer than its newest one";
    }
    return nullptr;
  }

  const Tree& tree_;
  Tree::Visit visit_;
  Tree::PageVisit visit_page_;
  Tree::IsDecided is_decided_;
  FunctionRef<bool()> interrupted_;
  PageGuard previous_leaf_;
  std::optional<PageNumber> expected_leaf_;
};

}  // namespace

Status Tree::Check(Visit visit, PageVisit visit_page, IsDecided is_decided,
                   FunctionRef<bool()> interrupted) {
  return Checker(*this, visit, visit_page, is_decided, interrupted).Run();
}

}  // namespace rowan
