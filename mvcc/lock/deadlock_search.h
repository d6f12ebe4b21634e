// SPDX-License-Identifier: GPL-2.0-only
// DeadlockSearch: breadth first over "is blocked by", from the transaction that is about to sleep.
// Only sleepers are nodes, and they cannot go away during the search.
//
// A waiting request is blocked by what conflicts with it before it in its queue. The walk goes
// backwards and stops at the first blocked exclusive request of the same part: that one is blocked
// by everything before it that could block us, so a queue of n writers costs n steps and not n
// squared.
// Thread safety: none; all members are called under the graph mutex (lock_wait.h).
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

#include "mvcc/lock/deadlock.h"
#include "mvcc/lock/lock_bucket.h"

namespace rowan {

class DeadlockSearch {
 public:
  explicit DeadlockSearch(LockBuckets* buckets) : buckets_(buckets) {}

  /// Resolves every cycle through `txn`. False if `txn` itself has to give up.
  bool Resolve(Txn* txn);
  /// Reports each replication worker that keeps the owner of this waiting request, itself such a
  /// worker, waiting.
  void ReportBlockers(const LockRequest* waiter, void (*blocked)(void* waiter, void* holder)) const;
  /// The deadlock found last.
  [[nodiscard]] const Deadlock& last() const { return last_; }

 private:
  static constexpr size_t kNoCycle = SIZE_MAX;
  struct Node {
    Txn* txn;
    LockRequest* request;
    size_t parent;
  };

  /// Index of a node that waits for the first one, or kNoCycle.
  size_t FindCycle(Txn* start);
  /// Adds the waiting transactions that block a node; true if the first node is among them.
  bool Expand(size_t node);
  bool AddBlocker(size_t node, const LockRequest* blocker);
  /// Of the cycle that ends in `last`.
  [[nodiscard]] Txn* ChooseVictim(size_t last) const;
  void Remember(size_t last, const Txn* victim);

  LockBuckets* const buckets_;
  uint64_t search_number_ = 0;
  std::vector<Node> nodes_;  ///< kept to avoid allocations
  Deadlock last_;
};

}  // namespace rowan
