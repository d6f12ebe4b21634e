// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/lock_wait.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/counters.h"
#include "mvcc/txn/txn.h"

namespace rowan {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

}  // namespace

bool LockWait::PublishAndSearch(Txn* txn, LockRequest* request) {
  const MutexLock lock(&graph_mutex_);
  txn->locks.waiting_for.store(request, std::memory_order_relaxed);
  ROWAN_DCHECK(request->owner == txn);
  if (txn->locks.replica_worker != nullptr && hooks_.worker_blocked != nullptr) {
    search_.ReportBlockers(request, hooks_.worker_blocked);
  }
  return !txn->locks.deadlock_detect || search_.Resolve(txn);
}

Status LockWait::Sleep(Txn* txn, LockRequest* request) {
  const uint64_t start = MonotonicNanos();
  const uint64_t deadline = start + txn->locks.wait_timeout_s * kNanosPerSecond;
  ROWAN_DCHECK(txn->locks.waiting_for.load(std::memory_order_relaxed) == request);
  // A cycle can close without a new waiter: an implicit lock made explicit adds an edge to a
  // sleeper.
  uint64_t search_interval = kNanosPerSecond;
  uint64_t next_search = start + search_interval;
  for (;;) {
    const uint32_t word = request->word.load(std::memory_order_acquire);
    if ((word & LockRequest::kGranted) != 0) return Status::Ok();
    if (txn->locks.chosen_as_victim.load(std::memory_order_acquire)) return Status(Code::kDeadlock);
    if (txn->interrupted.load(std::memory_order_acquire)) return Status(Code::kInterrupted);
    if (shutdown_sign_ != nullptr && shutdown_sign_()) return Status(Code::kInterrupted);
    const uint64_t now = MonotonicNanos();
    if (now >= deadline) return Status(Code::kLockTimeout);
    if (now >= next_search) {
      if (!PublishAndSearch(txn, request)) return Status(Code::kDeadlock);
      search_interval *= 2;
      next_search = now + search_interval;
    }
    // Waiters for rows of a rollback that a shutdown stopped are never woken.
    const uint64_t next_look = std::min(next_search, now + kNanosPerSecond);
    SleepOnce(request, word, std::min(deadline, next_look) - now);
  }
}

void LockWait::SleepOnce(LockRequest* request, uint32_t word, uint64_t nanos) const {
  if (hooks_.begin != nullptr) hooks_.begin();
  request->Sleep(word, nanos);
  if (hooks_.end != nullptr) hooks_.end();
}

Status LockWait::Finish(Txn* txn, LockRequest* request, Status verdict) {
  {
    // After this no search knows us any more, and no thread is about to wake `request`.
    const MutexLock lock(&graph_mutex_);
    txn->locks.waiting_for.store(nullptr, std::memory_order_relaxed);
    txn->locks.chosen_as_victim.store(false, std::memory_order_relaxed);
  }
  LockBucket* bucket = buckets_->Of(request->key);
  WakeList wakes;
  {
    ExclusiveLatchGuard guard(&bucket->latch);
    // The grant wins over everything that happened at the same moment.
    if (request->granted()) verdict = Status::Ok();
    if (verdict.ok() && request->kind != LockKind::kInsertIntention) return verdict;
    bucket->Remove(request, &wakes);
  }
  pool_->Release(request);
  return verdict;
}

Status LockWait::WaitUnlessGranted(Txn* txn, LockRequest* request) {
  if (request->granted()) return Status::Ok();
  AddCounter(Counter::kRowLockWaits);
  const uint64_t start = MonotonicMicros();
  const Status verdict =
      PublishAndSearch(txn, request) ? Sleep(txn, request) : Status(Code::kDeadlock);
  AddCounter(Counter::kRowLockTimeMicros, MonotonicMicros() - start);
  return verdict;
}

Status LockWait::Wait(Txn* txn) {
  LockRequest* request = txn->locks.queued;
  ROWAN_CHECK(request != nullptr);
  ROWAN_DCHECK(request->owner == txn);
  ROWAN_DCHECK(txn->locks.waiting_for.load(std::memory_order_relaxed) == nullptr);
  txn->locks.queued = nullptr;
  const Status verdict = Finish(txn, request, WaitUnlessGranted(txn, request));
  if (verdict.Is(Code::kLockTimeout)) AddCounter(Counter::kLockTimeouts);
  if (verdict.Is(Code::kDeadlock)) txn->rollback.required = Code::kDeadlock;
  return verdict;
}

void LockWait::Interrupt(Txn* txn) {
  txn->interrupted.store(true, std::memory_order_release);
  const MutexLock lock(&graph_mutex_);
  LockRequest* request = txn->locks.waiting_for.load(std::memory_order_relaxed);
  if (request != nullptr) request->WakeToLook();
}

void LockWait::SetReplicaWorker(Txn* txn, void* worker) {
  if (txn->locks.replica_worker == worker) return;
  // A thread that reports it now holds this mutex: afterwards the old worker may go.
  const MutexLock lock(&graph_mutex_);
  txn->locks.replica_worker = worker;
}

Deadlock LockWait::LastDeadlock() const {
  const MutexLock lock(&graph_mutex_);
  return search_.last();
}

}  // namespace rowan
