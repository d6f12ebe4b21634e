// SPDX-License-Identifier: GPL-2.0-only
// LockTable: row locks. A record lock is an entry keyed by (index, hash of the full key), never by
// page position, so splits, merges and purge of pages move nothing. A hash collision only causes
// extra waiting. Two kinds of locks have no entry, and are turned into one (owned by their holder)
// by the first transaction that must wait for them: an uncommitted writer's id in a row, which is
// an implicit exclusive record lock, and folded locks (mvcc/lock/folded_locks.h), the key ranges of
// scans and the older record locks of a transaction with many.
//
// A range locks records and the gaps between them. Gap locks conflict only with insert intentions;
// record parts conflict as S/X; an insert intention waits for others' gap locks and blocks nothing.
// Why no insert slips past a range: docs/decisions/0002-lock-keys.md.
// Deadlocks: each waiter publishes one edge (`Txn::waiting_for`) before it walks the chain of
// edges; reaching itself it chooses the victim with the fewest undo bytes and claims it by
// exchange.
//
// Invariants:
//   1. a queue is what a bucket's chain holds of one key; within it granted requests come before
//      waiting ones, and waiting ones stand in order of arrival, upgrades first;
//   2. a request waits only while it conflicts with a granted one of another transaction or, unless
//      it is an upgrade or an insert intention, with one waiting before it: removing a request from
//      a queue grants what becomes grantable, under the same bucket latch;
//   3. a transaction is alive while it has a request in some queue, and cannot leave Wait while the
//      graph mutex is held: a search dereferences owners under a bucket latch, and sleepers at any
//      time;
//   4. a record is checked and taken under one hold of its bucket's latch, also by folding: of two
//      transactions that ask for one record the second finds the first;
//   5. a folded lock that conflicts with a waiting request has an entry before it in the queue: a
//      request that queues turns what blocks it into entries, and a lock that is granted past
//      waiting requests leaves one. So granting need not look at folded locks.
//
// Order of latches: graph mutex -> bucket latch -> folded locks -> request pool.
// Thread safety: all members. Never called with the lock table's own mutexes held;
// TryLock may be called under a leaf latch (it does not block), Wait must not.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/lock/deadlock.h"
#include "mvcc/lock/folded_locks.h"
#include "mvcc/lock/lock_bucket.h"
#include "mvcc/lock/lock_folding.h"
#include "mvcc/lock/lock_info.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"
#include "mvcc/lock/lock_request_pool.h"
#include "mvcc/lock/lock_wait.h"
#include "mvcc/txn/txn.h"

namespace rowan {

class LockTable {
 public:
  explicit LockTable(uint64_t memory_bytes_max);

  /// Grants at once if possible. On conflict: kNoWait -> kLockNotAvailable, kSkipLocked ->
  /// kSkipped, kWait -> a waiting request is queued and kLockWait returned: release all latches,
  /// then Wait. A lock that the transaction already holds is Ok without a new entry (the entry
  /// counts the requests, see Unlock). An insert intention never leaves an entry. kLockTableFull at
  /// the memory cap. Works for transactions without an id, too.
  /// `kind` is not kNextKey: ranges are locked by the two members below.
  Status TryLock(Txn* txn, const LockTarget& target, LockMode mode, LockKind kind,
                 WaitPolicy policy);
  /// As TryLock for a record that a scan has reached, but leaves no entry: when the lock is granted
  /// at once, `piece`, which holds the record, joins the ranges of the transaction.
  Status LockScanned(Txn* txn, const LockTarget& target, LockMode mode, WaitPolicy policy,
                     const RangePiece& piece);
  /// Locks a piece without records that others could have locked. Never waits. kLockTableFull.
  Status LockGap(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece);
  /// False: no insert into the index needs an insert intention. Call under the leaf latch.
  [[nodiscard]] bool MayHoldGaps(const Txn* txn, IndexId index) const {
    return folded_.AnyOfOthers(txn, index);
  }
  /// Sleeps until the queued request is granted (Ok), or kDeadlock, kLockTimeout, kInterrupted; the
  /// request is gone unless granted.
  Status Wait(Txn* txn) { return waits_.Wait(txn); }
  /// Adds a granted exclusive record lock for an implicit holder (within TxnManager::WithActive).
  void AddImplicit(Txn* owner, LockKey key);
  /// The entry that carried `owner`'s implicit lock of the key is undone and gone: its waiter goes
  /// on. What the owner has folded there stays locked. Called by the owner's thread.
  void DropImplicit(Txn* owner, const LockTarget& target);
  /// True if a transaction other than `txn` holds or waits for something that conflicts.
  [[nodiscard]] bool Conflicts(const Txn* txn, const LockTarget& target, LockMode mode,
                               LockKind kind) const;

  /// Undoes one successful TryLock on a row that did not match (READ COMMITTED): the lock goes once
  /// every TryLock that it answered is undone. Folded locks stay.
  void Unlock(Txn* txn, LockKey key, LockMode mode, LockKind kind);
  /// At commit or rollback; wakes waiters.
  void ReleaseAll(Txn* txn);
  /// Transfers the entries of `from` to `to`, which asks for nothing itself and already stands for
  /// the implicit locks of `from`; waiters go on waiting. Folded locks are released: of these,
  /// implicit ones remain. Called by the thread of both.
  void HandOver(Txn* from, Txn* to);
  /// Sets txn->interrupted, which ends its wait, or its next one, with kInterrupted (kill). Any
  /// thread; the caller keeps `txn` alive. Cleared by the start of the next statement.
  void Interrupt(Txn* txn) { waits_.Interrupt(txn); }

  /// Most memory for entries and folded locks. Transactions with few locks are never refused.
  void SetMemoryMax(uint64_t memory_bytes_max) { folding_.SetMemoryMax(memory_bytes_max); }
  [[nodiscard]] uint64_t memory_bytes() const { return folding_.memory_bytes(); }

  [[nodiscard]] std::vector<LockInfo> Describe(size_t count_max) const;
  /// The waits, each with everything that blocks it.
  [[nodiscard]] std::vector<LockWaitInfo> DescribeWaits(size_t count_max) const;
  /// Entries, granted and waiting.
  [[nodiscard]] uint64_t lock_count() const { return pool_.in_use(); }
  /// The deadlock found last; its number is 0 if there was none.
  [[nodiscard]] Deadlock LastDeadlock() const { return waits_.LastDeadlock(); }
  /// Walks all queues: order, compatibility of granted requests, counts. For tests.
  [[nodiscard]] Status Check() const;

  /// Waits end with kInterrupted when it tells of a shutdown; set once before use.
  void SetShutdownSign(ShutdownSign sign) { waits_.SetShutdownSign(sign); }
  /// Set once before use.
  void SetWaitHooks(const LockWaitHooks& hooks) { waits_.SetHooks(hooks); }
  /// Sets txn->locks.replica_worker; the former one is no longer used when this returns. Called
  /// by the transaction's thread.
  void SetReplicaWorker(Txn* txn, void* worker) { waits_.SetReplicaWorker(txn, worker); }

 private:
  /// Before a transaction's next request: withdraws one that it did not wait for, and folds its
  /// older record locks when there are many.
  Status Prepare(Txn* txn);
  /// Bucket latch held, as for the next one. Looks at the queue and at folded locks. Ok: nothing
  /// blocks it, and no entry was made. `covered`: an own lock holds all of it. Else as TryLock.
  Status TryQueue(LockBucket* bucket, const LockAttempt& attempt, bool* covered)
      ROWAN_REQUIRES(bucket->latch);
  /// Makes entries of others' folded locks that block the request.
  FoldedLocks::Own Unfold(LockBucket* bucket, const LockAttempt& attempt, QueueScan* scan)
      ROWAN_REQUIRES(bucket->latch);
  enum class MemoryCap : uint8_t { kKept, kPassed };
  /// nullptr at the memory cap, if `cap` enforces it.
  LockRequest* NewRequest(Txn* txn, LockKey key, LockMode mode, LockKind kind, MemoryCap cap);
  /// Takes it out of its queue and returns it to the pool. No bucket latch held.
  void Remove(LockRequest* request);

  LockRequestPool pool_;
  FoldedLocks folded_;
  LockBuckets buckets_;
  LockFolding folding_;
  LockWait waits_;
};

}  // namespace rowan
