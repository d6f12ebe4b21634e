// SPDX-License-Identifier: GPL-2.0-only
// Inside of the lock table: buckets of queues, and the wait graph. Used by lock_table.cc,
// lock_fold.cc, lock_wait.cc and deadlock.cc only.
//
// Invariants:
//   1. a queue is what a bucket's chain holds of one key; within it granted requests come before
//      waiting ones, and waiting ones stand in order of arrival, upgrades first;
//   2. a request waits only while it conflicts with a granted one of another transaction or, unless
//      it is an upgrade or an insert intention, with one waiting before it: whoever takes a request
//      out of a queue grants what it made grantable, under the same bucket latch;
//   3. a transaction is alive while it has a request in some queue, and cannot leave Wait while the
//      graph mutex is held: a search derefers owners under a bucket latch, sleepers at any time;
//   4. whether a record is free is found out, and it is taken, under the latch of its bucket, also
//      when it is taken by folding: of two that ask for one record the second one finds the first;
//   5. a folded lock that conflicts with a waiting request has an entry before it in the queue:
//      what is in the way is made an entry when somebody queues, and a lock that is granted past
//      those who wait leaves one. So whoever grants need not look at what is folded.
// Order: graph mutex -> bucket latch -> folded locks -> pool.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/latch.h"
#include "mvcc/lock/folded_locks.h"
#include "mvcc/lock/lock_request.h"
#include "mvcc/lock/lock_table.h"
#include "mvcc/lock/queue_summary.h"

namespace rowan {

struct alignas(32) LockBucket {
  Latch latch;
  std::atomic<LockRequest*> first{nullptr};  ///< written under the latch
  LockRequest* last = nullptr;
  uint32_t waiting = 0;  ///< requests not granted, whatever their key
};
static_assert(sizeof(LockBucket) == 32);

/// Requests to be woken after the bucket latch is given back.
class WakeList {
 public:
  ~WakeList() { WakeAll(); }
  /// May wake at once when there are many.
  void Add(LockRequest* request);
  void WakeAll();

 private:
  static constexpr size_t kRoom = 16;
  std::array<LockRequest*, kRoom> requests_;
  size_t count_ = 0;
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

/// What a transaction asks of the table.
struct LockAsked {
  Txn* txn;
  const LockTarget& target;
  LockMode mode;
  LockKind kind;
  WaitPolicy policy;
};

struct LockTableImpl {
  explicit LockTableImpl(uint64_t memory_bytes_max);

  [[nodiscard]] LockBucket* BucketOf(LockKey key) const;

  // --- queues: bucket latch held ---
  static void Link(LockBucket* bucket, LockRequest* request, LockRequest* before);
  static void Unlink(LockBucket* bucket, LockRequest* request);
  /// First waiting request of the key, or nullptr. Without upgrades if `behind_upgrades`.
  static LockRequest* FirstWaiting(LockBucket* bucket, LockKey key, bool behind_upgrades);
  static LockRequest* FindCovering(LockBucket* bucket, const Txn* txn, LockKey key, LockMode mode,
                                   LockKind kind);
  /// Grants every waiting request of the key that nothing blocks any more. `record` and `gap` say
  /// which parts the request that went away had.
  static void GrantWaiters(LockBucket* bucket, LockKey key, bool record, bool gap, WakeList* wakes);
  static void AddGranted(LockBucket* bucket, LockRequest* request);
  static void AddWaiting(LockBucket* bucket, LockRequest* request);
  /// Out of its queue and its owner's list. REQUIRES: called by the owner.
  static void Detach(LockBucket* bucket, LockRequest* request, WakeList* wakes);

  // --- asking: bucket latch held ---
  /// Stops where the answer cannot change any more: an own lock covers it all, or a waiting request
  /// blocks it.
  static QueueScan ScanQueue(LockBucket* bucket, const LockAsked& asked);
  /// Looks at the queue and at what is folded. Ok: nothing is in the way, and no entry was made.
  /// `covered`: an own lock holds all of it. Else as TryLock.
  Status AskQueue(LockBucket* bucket, const LockAsked& asked, bool* covered);
  /// Makes entries of what others have folded that is in the way of the request.
  FoldedLocks::Own BringOut(LockBucket* bucket, const LockAsked& asked, QueueScan* scan);

  // --- folding (lock_fold.cc) ---
  /// Before a transaction's next request: withdraws one that it did not wait for, folds its older
  /// record locks when there are many.
  Status Prepare(Txn* txn);
  Status FoldOldLocks(Txn* txn);
  /// Takes the request behind `before` out of its owner's list; false: it has to stay.
  bool FoldBehind(LockRequest* before);
  Status Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece);
  /// May the transaction not have more?
  [[nodiscard]] bool IsFullFor(const Txn* txn) const;

  // --- requests ---
  LockRequest* NewRequest(Txn* txn, LockKey key, LockMode mode, LockKind kind, bool beyond_cap);
  /// Detach, then back to the pool. No bucket latch held.
  void Remove(LockRequest* request);
  static void PushToOwner(LockRequest* request);
  static void PopFromOwner(LockRequest* request);

  // --- waiting (lock_wait.cc) ---
  /// Publishes the edge and searches; again with `txn` published already.
  bool PublishAndSearch(Txn* txn, LockRequest* request);
  /// Until granted (Ok) or given up.
  Status Sleep(Txn* txn, LockRequest* request);
  Status FinishWait(Txn* txn, LockRequest* request, Status verdict);
  static void Poke(LockRequest* request);

  // --- deadlock search (deadlock.cc): graph mutex held ---
  /// Resolves every cycle through `txn`. False if `txn` itself has to give up.
  bool ResolveDeadlocks(Txn* txn);
  static constexpr size_t kNoCycle = SIZE_MAX;
  /// Index of a node that waits for the first one, or kNoCycle.
  size_t FindCycle(Txn* start);
  /// Adds the transactions that block a node and wait themselves; true if the first node is among
  /// them.
  bool Expand(size_t node);
  bool AddBlocker(size_t node, const LockRequest* blocker);
  /// Of the cycle that ends in `last`.
  Txn* ChooseVictim(size_t last) const;
  void RememberDeadlock(size_t last, const Txn* victim);

  struct SearchNode {
    Txn* txn;
    LockRequest* request;
    size_t parent;
  };

  LockRequestPool pool;
  FoldedLocks folded;
  std::atomic<uint64_t> memory_bytes_max;
  const uint64_t bucket_mask;
  std::unique_ptr<LockBucket[]> buckets;
  ShutdownSign shutdown_sign = nullptr;

  std::mutex graph_mutex;
  uint64_t search_number = 0;      ///< guarded by graph_mutex
  std::vector<SearchNode> nodes;   ///< guarded by graph_mutex; kept to not allocate
  std::string last_deadlock;       ///< guarded by graph_mutex
};

}  // namespace rowan
