// SPDX-License-Identifier: GPL-2.0-only
// KeyRangeTree: the locked key ranges of all transactions in one index, ordered by where they
// begin, so that "which ranges hold this key" costs the logarithm of their number plus the answers.
// Ranges of different transactions may overlap. A treap: each node knows which range below it
// reaches furthest, so whole subtrees that end before a key are skipped.
//
// A range is [low, high) in the byte order of keys; a key k alone is [k, k + one zero byte),
// because keys delimit themselves. Thread safety: none; guarded by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include "base/assertions.h"
#include "base/bytes.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct Txn;

struct KeyRange {
  std::string low;
  std::string high;        ///< ignored if `unbounded`
  bool unbounded = false;  ///< reaches beyond every key
  /// The key `low` itself, and the one that ends at `high`: only its insertion is blocked, a record
  /// with that key is not locked.
  bool first_is_gap = false;
  bool last_is_gap = false;
  LockMode mode = LockMode::kShared;
  Txn* owner = nullptr;

  KeyRange* owner_previous = nullptr;  ///< the owner's ranges in this index
  KeyRange* owner_next = nullptr;

  // The tree's own.
  KeyRange* parent = nullptr;
  KeyRange* left = nullptr;
  KeyRange* right = nullptr;
  KeyRange* furthest = nullptr;  ///< of this node and all below it, the one with the greatest end
  uint64_t priority = 0;

  /// REQUIRES: low <= key.
  [[nodiscard]] bool EndsBehind(Bytes key) const {
    ROWAN_DCHECK(CompareBytes(AsBytes(low), key) <= 0);
    return unbounded || CompareBytes(AsBytes(high), key) > 0;
  }
  [[nodiscard]] bool Contains(Bytes key) const {
    return CompareBytes(AsBytes(low), key) <= 0 && EndsBehind(key);
  }
  /// REQUIRES: Contains(key). False for a key at an edge that blocks only inserts.
  [[nodiscard]] bool LocksRecord(Bytes key) const {
    ROWAN_DCHECK(Contains(key));
    if (first_is_gap && EqualBytes(AsBytes(low), key)) return false;
    const bool last = last_is_gap && !unbounded && high.size() == key.size() + 1 &&
                      AsBytes(high).back() == std::byte{0} &&
                      EqualBytes(AsBytes(high).first(key.size()), key);
    return !last;
  }
};

/// Adds a range to the list of its owner.
inline void PushRange(KeyRange** list, KeyRange* range) {
  range->owner_next = *list;
  if (*list != nullptr) (*list)->owner_previous = range;
  *list = range;
}
inline void UnlinkRange(KeyRange** list, KeyRange* range) {
  (range->owner_previous == nullptr ? *list : range->owner_previous->owner_next) =
      range->owner_next;
  if (range->owner_next != nullptr) range->owner_next->owner_previous = range->owner_previous;
}

/// Does `left` end before `right` does?
[[nodiscard]] inline bool EndsSooner(const KeyRange& left, const KeyRange& right) {
  if (left.unbounded || right.unbounded) return !left.unbounded;
  return CompareBytes(AsBytes(left.high), AsBytes(right.high)) < 0;
}

class KeyRangeTree {
 public:
  KeyRangeTree() = default;
  KeyRangeTree(const KeyRangeTree&) = delete;
  KeyRangeTree& operator=(const KeyRangeTree&) = delete;

  /// The caller keeps the range alive while it is in the tree, and does not change its `low`.
  void Insert(KeyRange* range);
  void Remove(KeyRange* range);
  /// The range's end moved to the right.
  static void EndMoved(KeyRange* range);
  [[nodiscard]] size_t size() const { return size_; }

  /// Calls visit(KeyRange*) for every range that begins at or before `high` (null: any) and ends at
  /// or after `low`, in order of where they begin. `visit` must not change the tree.
  template <typename Visit>
  void ForEachMeeting(Bytes low, const Bytes* high, Visit visit) const {
    VisitBelow(root_, low, high, visit);
  }
  /// As above, for ranges that contain the key.
  template <typename Visit>
  void ForEachAt(Bytes key, Visit visit) const {
    ForEachMeeting(key, &key, [&](KeyRange* range) {
      if (range->EndsBehind(key)) visit(range);
    });
  }
  /// Order, priorities and reach of every node. For tests.
  [[nodiscard]] bool Check() const;

 private:
  template <typename Visit>
  static void VisitBelow(KeyRange* node, Bytes low, const Bytes* high, Visit& visit) {
    if (node == nullptr || EndsBefore(*node->furthest, low)) return;
    VisitBelow(node->left, low, high, visit);
    if (high != nullptr && CompareBytes(AsBytes(node->low), *high) > 0) return;
    if (!EndsBefore(*node, low)) visit(node);
    VisitBelow(node->right, low, high, visit);
  }
  static bool EndsBefore(const KeyRange& range, Bytes key) {
    return !range.unbounded && CompareBytes(AsBytes(range.high), key) < 0;
  }
  static void FindFurthest(KeyRange* node);
  /// Puts `node` above its parent.
  void RotateUp(KeyRange* node);
  KeyRange** LinkTo(KeyRange* node);

  KeyRange* root_ = nullptr;
  size_t size_ = 0;
  uint64_t random_ = 0x9E3779B97F4A7C15ull;
};

}  // namespace rowan
