// SPDX-License-Identifier: GPL-2.0-only
// Which row locks conflict and which one makes another superfluous. Pure functions; the queue
// summary answers "does this conflict with anybody else in the queue" in constant time per request,
// however long the queue is. The gap part of a lock has no mode: a gap is only ever locked against
// inserts.
#pragma once

#include "mvcc/lock/lock_table.h"

namespace rowan {

[[nodiscard]] constexpr bool HasRecordPart(LockKind kind) {
  return kind == LockKind::kRecord || kind == LockKind::kNextKey;
}
[[nodiscard]] constexpr bool HasGapPart(LockKind kind) {
  return kind == LockKind::kGap || kind == LockKind::kNextKey;
}
[[nodiscard]] constexpr bool ModesConflict(LockMode left, LockMode right) {
  return left == LockMode::kExclusive || right == LockMode::kExclusive;
}

/// Must `wanted` of one transaction wait for `held` of another on the same key?
[[nodiscard]] constexpr bool LocksConflict(LockMode held_mode, LockKind held, LockMode wanted_mode,
                                           LockKind wanted) {
  if (wanted == LockKind::kInsertIntention) return HasGapPart(held);
  if (held == LockKind::kInsertIntention) return false;
  const bool same_part =
      (HasRecordPart(held) && HasRecordPart(wanted)) ||
      (held == LockKind::kUniqueValue && wanted == LockKind::kUniqueValue);
  return same_part && ModesConflict(held_mode, wanted_mode);
}

/// Does holding `held` give everything that `wanted` asks for?
[[nodiscard]] constexpr bool LockCovers(LockMode held_mode, LockKind held, LockMode wanted_mode,
                                        LockKind wanted) {
  const bool strong = held_mode == LockMode::kExclusive || wanted_mode == LockMode::kShared;
  switch (wanted) {
    case LockKind::kRecord:
      return HasRecordPart(held) && strong;
    case LockKind::kGap:
      return HasGapPart(held);
    case LockKind::kNextKey:
      return held == LockKind::kNextKey && strong;
    case LockKind::kUniqueValue:
      return held == LockKind::kUniqueValue && strong;
    case LockKind::kInsertIntention:
      return false;
  }
  return false;
}

/// A set of transactions of which only "is there another than me" is ever asked.
class OwnerSet {
 public:
  void Add(const Txn* owner) {
    if (owner_ == nullptr) owner_ = owner;
    several_ = several_ || owner_ != owner;
  }
  [[nodiscard]] bool HasOther(const Txn* owner) const {
    return several_ || (owner_ != nullptr && owner_ != owner);
  }

 private:
  const Txn* owner_ = nullptr;
  bool several_ = false;
};

/// What a part of a queue blocks.
class QueueSummary {
 public:
  void Add(const Txn* owner, LockMode mode, LockKind kind) {
    if (HasGapPart(kind)) gap_.Add(owner);
    if (HasRecordPart(kind)) (mode == LockMode::kShared ? shared_ : exclusive_).Add(owner);
    if (kind == LockKind::kUniqueValue) {
      (mode == LockMode::kShared ? unique_shared_ : unique_exclusive_).Add(owner);
    }
  }

  /// Same answer as LocksConflict against each request added that is not `owner`'s.
  [[nodiscard]] bool Blocks(const Txn* owner, LockMode mode, LockKind kind) const {
    if (kind == LockKind::kInsertIntention) return gap_.HasOther(owner);
    const bool exclusive = mode == LockMode::kExclusive;
    if (HasRecordPart(kind)) {
      return exclusive_.HasOther(owner) || (exclusive && shared_.HasOther(owner));
    }
    if (kind == LockKind::kUniqueValue) {
      return unique_exclusive_.HasOther(owner) || (exclusive && unique_shared_.HasOther(owner));
    }
    return false;
  }

 private:
  OwnerSet shared_;
  OwnerSet exclusive_;
  OwnerSet gap_;
  OwnerSet unique_shared_;
  OwnerSet unique_exclusive_;
};

}  // namespace rowan
