// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_request.h"

#include "base/futex.h"
#include "mvcc/txn/txn.h"

namespace rowan {

bool LockRequest::Blocks(const LockRequest& waiter) const {
  if (key != waiter.key || owner == waiter.owner) return false;
  const bool past_waiting = waiter.upgrade || waiter.kind == LockKind::kInsertIntention;
  if (past_waiting && !granted()) return false;
  return LocksConflict(mode, kind, waiter.mode, waiter.kind);
}

LockInfo LockRequest::Describe() const {
  return {.owner = owner->txn_id(),
          .thread = owner->thread.load(std::memory_order_relaxed),
          .index = key.index,
          .key_hash = key.key_hash,
          .mode = mode,
          .kind = kind,
          .granted = granted()};
}

void LockRequest::Wake() { FutexWakeAll(&word); }

void LockRequest::WakeToLook() {
  word.fetch_add(kLookAgain, std::memory_order_acq_rel);
  Wake();
}

void LockRequest::Sleep(uint32_t expected, uint64_t nanos) { FutexWait(&word, expected, nanos); }

}  // namespace rowan
