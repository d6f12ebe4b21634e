// SPDX-License-Identifier: GPL-2.0-only
#include "btree/node_split.h"

#include <algorithm>

#include "base/assertions.h"
#include "btree/insert_pattern.h"
#include "btree/node_search.h"

namespace rowan {
namespace {

/// Width of the window around the middle: an eighth of the bytes.
constexpr size_t kWindowShare = 16;

/// Length beyond the prefix of the shortest separator between two neighbours.
size_t SeparatorCost(const NodeView& leaf, size_t slot) {
  return CommonPrefix(leaf.Suffix(slot - 1), leaf.Suffix(slot)) + 1;
}

struct NewEntry {
  Bytes key;
  size_t value_bytes;
};

struct Window {
  size_t first;
  size_t last;  // inclusive
  size_t middle;
};

/// Slots in 1..count-1 whose left part holds about half of the bytes. The middle itself leaves at
/// most three quarters of a page on one side, so both halves have room for their new fences.
Window MiddleWindow(const NodeView& node) {
  const size_t count = node.count();
  const auto entry_bytes = [&node](size_t slot) {
    return node.RecordBytes(slot) + node_layout::kSlotBytes;
  };
  size_t total = 0;
  for (size_t slot = 0; slot < count; ++slot) total += entry_bytes(slot);
  Window window{count - 1, 1, 1};
  size_t left = 0;
  size_t nearest = SIZE_MAX;
  for (size_t slot = 1; slot < count; ++slot) {
    left += entry_bytes(slot - 1);
    const size_t distance = left * 2 > total ? left * 2 - total : total - left * 2;
    if (distance < nearest) {
      nearest = distance;
      window.middle = slot;
    }
    if (distance * (kWindowShare / 2) > total) continue;
    window.first = std::min(window.first, slot);
    window.last = std::max(window.last, slot);
  }
  if (window.first > window.last) window.first = window.last = window.middle;
  return window;
}

size_t Distance(size_t left, size_t right) { return left > right ? left - right : right - left; }

/// Slot in the window with the smallest cost, nearest to the middle on a tie.
template <typename Cost>
size_t Cheapest(const Window& window, Cost cost) {
  size_t best = window.middle;
  size_t best_cost = cost(best);
  for (size_t slot = window.first; slot <= window.last; ++slot) {
    const size_t slot_cost = cost(slot);
    const bool nearer = Distance(slot, window.middle) < Distance(best, window.middle);
    if (slot_cost < best_cost || (slot_cost == best_cost && nearer)) {
      best = slot;
      best_cost = slot_cost;
    }
  }
  return best;
}

void SeparatorBetweenSlots(const NodeView& leaf, size_t slot, KeyBuffer* separator) {
  KeyBuffer left;
  KeyBuffer right;
  AssembleKey(leaf, slot - 1, &left);
  AssembleKey(leaf, slot, &right);
  ShortestSeparator(left, right, separator);
}

void SeparatorBefore(const NodeView& leaf, size_t slot, Bytes key, KeyBuffer* separator) {
  KeyBuffer neighbour;
  AssembleKey(leaf, slot, &neighbour);
  ShortestSeparator(key, neighbour, separator);
}

void SeparatorBehind(const NodeView& leaf, size_t slot, Bytes key, KeyBuffer* separator) {
  KeyBuffer neighbour;
  AssembleKey(leaf, slot, &neighbour);
  ShortestSeparator(neighbour, key, separator);
}

/// A leaf without these entries has room for the new one.
bool HasRoomWithout(const NodeView& leaf, size_t first, size_t last, const NewEntry& added) {
  size_t moved = 0;
  for (size_t slot = first; slot < last; ++slot) {
    moved += leaf.RecordBytes(slot) + node_layout::kSlotBytes;
  }
  return leaf.TotalFree() + moved >=
         leaf.EntryBytes(added.key.size(), added.value_bytes) + kHighKeyBytesMax;
}

/// Split where the inserts of a stream happen. The half that the stream has filled stays full; the
/// new key goes to the side that the stream comes from if there will be room, so that the stream
/// fills that half first, else to the side that it goes to.
SplitPlan PlanStreamSplit(const NodeView& leaf, size_t position, InsertTrend trend,
                          const NewEntry& added) {
  SplitPlan plan;
  plan.slot = position;
  const size_t count = leaf.count();
  const bool to_left = trend == InsertTrend::kAscending
                           ? position < count && HasRoomWithout(leaf, position, count, added)
                           : position == 0 || !HasRoomWithout(leaf, 0, position, added);
  if (to_left) {
    SeparatorBefore(leaf, position, added.key, &plan.separator);
  } else {
    SeparatorBehind(leaf, position - 1, added.key, &plan.separator);
  }
  return plan;
}

}  // namespace

void ShortestSeparator(Bytes left, Bytes right, KeyBuffer* separator) {
  ROWAN_DCHECK(CompareBytes(left, right) < 0);
  const size_t length = CommonPrefix(left, right) + 1;
  ROWAN_CHECK(length <= right.size());
  separator->assign(right.begin(), right.begin() + static_cast<ptrdiff_t>(length));
}

SplitPlan PlanMiddleSplit(const NodeView& node) {
  ROWAN_CHECK(node.count() >= 2);
  SplitPlan plan;
  if (node.is_leaf()) {
    plan.slot =
        Cheapest(MiddleWindow(node), [&node](size_t slot) { return SeparatorCost(node, slot); });
    SeparatorBetweenSlots(node, plan.slot, &plan.separator);
  } else {
    plan.slot =
        Cheapest(MiddleWindow(node), [&node](size_t slot) { return node.SuffixLength(slot); });
    AssembleKey(node, plan.slot, &plan.separator);
  }
  return plan;
}

SplitPlan PlanSplit(const NodeView& node, Bytes key, size_t value_bytes) {
  ROWAN_CHECK(node.count() >= 2);
  const SlotSearch found = SearchNode(node.page(), key);
  if (node.is_leaf()) {
    const InsertTrend trend = InsertTrendAt(node, found.slot);
    if (!found.exact && trend != InsertTrend::kNone) {
      return PlanStreamSplit(node, found.slot, trend, {key, value_bytes});
    }
  } else if (node.rightmost() && found.slot == node.count()) {
    SplitPlan plan;
    plan.slot = node.count() - 1;  // ascending growth: leave the left node full
    AssembleKey(node, plan.slot, &plan.separator);
    return plan;
  }
  return PlanMiddleSplit(node);
}

bool FitsAfterSplit(const NodeView& node, size_t keep, const NodeBounds& left) {
  ROWAN_DCHECK(keep <= node.count());
  const size_t prefix_bytes = left.prefix.size();
  size_t used = node_layout::kSlots +
                std::max(prefix_bytes, left.high.size() <= kHighKeyBytesMax ? left.high.size() : 0);
  for (size_t slot = 0; slot < keep; ++slot) {
    used += node.RecordBytes(slot) + node_layout::kSlotBytes + node.prefix_length() - prefix_bytes;
  }
  return used <= node.page().size();
}

bool FitsAfterSplitOrWithoutHighKey(const NodeView& node, size_t keep, NodeBounds* left) {
  if (FitsAfterSplit(node, keep, *left)) return true;
  if (!node.is_leaf() || keep > kEntriesBeforeHighKey) return false;
  left->high = {};
  return FitsAfterSplit(node, keep, *left);
}

SplitBounds BoundsAfterSplit(const NodeView& node, Bytes lower, Bytes separator,
                             PageNumber right_page) {
  const size_t kept = node.prefix_length();  // both old bounds start with the old prefix
  ROWAN_DCHECK(separator.size() >= kept && EqualBytes(separator.first(kept), node.prefix()));
  ROWAN_DCHECK(!node.has_high_key() || CompareBytes(separator, node.high_key()) < 0);
  SplitBounds bounds;
  bounds.left.high = separator;
  bounds.left.right = right_page;
  const size_t left_prefix = std::max(kept, CommonPrefix(lower, separator));
  bounds.left.prefix = separator.first(left_prefix);
  bounds.right.rightmost = node.rightmost();
  bounds.right.right = node.right();
  size_t right_prefix = kept;
  if (node.has_high_key()) {
    bounds.right.high = node.high_key();
    right_prefix = std::max(kept, CommonPrefix(separator, node.high_key()));
  }
  bounds.right.prefix = separator.first(right_prefix);
  return bounds;
}

}  // namespace rowan
