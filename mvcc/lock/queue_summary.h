// SPDX-License-Identifier: GPL-2.0-only
// QueueSummary: answers "does this conflict with another transaction in the queue" in constant time
// per request, however long the queue is. Thread safety: none; lives on the stack of a walk.
#pragma once

#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct Txn;

/// A set of transactions that answers only "is there another than me".
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
