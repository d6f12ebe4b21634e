// SPDX-License-Identifier: GPL-2.0-only
// LockWait: waiting for a row lock. A sleeper waits on the futex of its own request; the granting
// thread sets the granted bit under the bucket latch and wakes by address afterwards, so it never
// touches a transaction that may be gone. Kills and deadlock victims are woken under the graph
// mutex, which a sleeper has to pass before it leaves.
// Thread safety: all members. Order: graph mutex -> bucket latch.
#pragma once

#include "base/mutex.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/lock/deadlock_search.h"
#include "mvcc/lock/lock_bucket.h"
#include "mvcc/lock/lock_request_pool.h"
#include "mvcc/lock/lock_wait_hooks.h"

namespace rowan {

class LockWait {
 public:
  LockWait(LockBuckets* buckets, LockRequestPool* pool)
      : buckets_(buckets), pool_(pool), search_(buckets) {}

  /// As LockTable's members of these names.
  Status Wait(Txn* txn);
  void Interrupt(Txn* txn);
  void SetShutdownSign(ShutdownSign sign) { shutdown_sign_ = sign; }
  void SetHooks(const LockWaitHooks& hooks) { hooks_ = hooks; }
  void SetReplicaWorker(Txn* txn, void* worker);
  [[nodiscard]] Deadlock LastDeadlock() const;

 private:
  Status WaitUnlessGranted(Txn* txn, LockRequest* request);
  /// Publishes the edge, notifies the hooks, and searches; also with `txn` published already.
  /// False: `txn` has to give up.
  bool PublishAndSearch(Txn* txn, LockRequest* request);
  /// Until granted (Ok) or given up.
  Status Sleep(Txn* txn, LockRequest* request);
  void SleepOnce(LockRequest* request, uint32_t word, uint64_t nanos) const;
  Status Finish(Txn* txn, LockRequest* request, Status verdict);

  LockBuckets* const buckets_;
  LockRequestPool* const pool_;
  ShutdownSign shutdown_sign_ = nullptr;
  LockWaitHooks hooks_;

  mutable Mutex graph_mutex_{LatchRank::kWaitGraph};
  DeadlockSearch search_ ROWAN_GUARDED_BY(graph_mutex_);
};

}  // namespace rowan
