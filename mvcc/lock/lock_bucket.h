// SPDX-License-Identifier: GPL-2.0-only
// LockBucket: the queues of all keys with one hash value, in one chain of requests, and which of
// these are granted. Invariants: lock_table.h, 1 and 2.
// Thread safety: the caller holds the latch, exclusively for changes of the chain.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>

#include "base/latch.h"
#include "mvcc/lock/lock_request.h"
#include "mvcc/lock/queue_summary.h"
#include "mvcc/lock/wake_list.h"

namespace rowan {

/// What a transaction asks of the lock table.
struct LockAttempt {
  Txn* txn;
  const LockTarget& target;
  LockMode mode;
  LockKind kind;
  WaitPolicy policy;
};

/// What one walk over a queue tells a new request.
struct QueueScan {
  LockRequest* covering = nullptr;
  bool owns_record = false;  ///< holds the record in a weaker mode: an upgrade
  QueueSummary granted;
  QueueSummary waiting;

  [[nodiscard]] bool Conflicts(const Txn* txn, LockMode mode, LockKind kind) const {
    if (granted.Blocks(txn, mode, kind)) return true;
    if (owns_record || kind == LockKind::kInsertIntention) return false;
    return waiting.Blocks(txn, mode, kind);
  }
};

struct alignas(32) LockBucket {
  RankedLatch<LatchRank::kLockBucket> latch;
  std::atomic<LockRequest*> first{nullptr};  ///< written under the latch
  LockRequest* last ROWAN_GUARDED_BY(latch) = nullptr;
  /// Requests not granted, whatever their key.
  uint32_t waiting_count ROWAN_GUARDED_BY(latch) = 0;

  /// First waiting request of the key, upgrade or not; or nullptr.
  [[nodiscard]] LockRequest* FirstWaiting(LockKey key) const ROWAN_REQUIRES(latch);
  /// The transaction's granted request that already covers the request, or nullptr.
  [[nodiscard]] LockRequest* FindCovering(const Txn* txn, LockKey key, LockMode mode,
                                          LockKind kind) const ROWAN_REQUIRES(latch);
  /// Stops where the answer can no longer change: an own lock covers it all, or a waiting request
  /// blocks it.
  [[nodiscard]] QueueScan Scan(const LockAttempt& attempt) const ROWAN_REQUIRES(latch);

  /// Adds it to the queue of its key and to its owner's list.
  void AddGranted(LockRequest* request) ROWAN_REQUIRES(latch);
  void AddWaiting(LockRequest* request) ROWAN_REQUIRES(latch);
  /// Takes it out of its queue and its owner's list; grants the requests that it blocked. REQUIRES:
  /// called by the owner.
  void Remove(LockRequest* request, WakeList* wakes) ROWAN_REQUIRES(latch);
  /// Transfers a granted request to another transaction. REQUIRES: called by the owner.
  void HandOver(LockRequest* request, Txn* to) const ROWAN_REQUIRES(latch);
  /// Takes it out of its queue only. REQUIRES: no request waits for it.
  void Unlink(LockRequest* request) ROWAN_REQUIRES(latch);

 private:
  void Link(LockRequest* request, LockRequest* before) ROWAN_REQUIRES(latch);
  [[nodiscard]] LockRequest* FirstAfterUpgrades(LockKey key) const ROWAN_REQUIRES(latch);
  /// Invariant 1 of lock_table.h, for assertions.
  [[nodiscard]] bool GrantedStandFirst(LockKey key) const ROWAN_REQUIRES(latch);
  /// Grants every waiting request of the key that nothing blocks. `record` and `gap` say which
  /// parts the removed request had.
  void GrantWaiters(LockKey key, bool record, bool gap, WakeList* wakes) ROWAN_REQUIRES(latch);
};
static_assert(sizeof(LockBucket) == 32);

/// The hash table of the lock table. Never grows.
class LockBuckets {
 public:
  /// Sized so that chains stay short when locks take that much memory.
  explicit LockBuckets(uint64_t memory_bytes_max);

  [[nodiscard]] LockBucket* Of(LockKey key) const {
    const uint64_t mixed = (key.key_hash ^ key.index.value()) * 0x9E3779B97F4A7C15ull;
    return &buckets_[(mixed >> 32) & mask_];
  }
  [[nodiscard]] LockBucket* begin() const { return buckets_.get(); }
  [[nodiscard]] LockBucket* end() const { return buckets_.get() + mask_ + 1; }

 private:
  const uint64_t mask_;
  const std::unique_ptr<LockBucket[]> buckets_;
};

}  // namespace rowan
