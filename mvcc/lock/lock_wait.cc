// SPDX-License-Identifier: GPL-2.0-only
// Waiting for a row lock. A sleeper waits on the futex of its own request; whoever grants sets the
// granted bit under the bucket latch and wakes by address afterwards, so nobody touches a
// transaction that may be gone. Kills and deadlock victims are poked under the graph mutex, which a
// sleeper has to pass before it leaves.
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <climits>
#include <ctime>

#include "base/assertions.h"
#include "base/clock.h"
#include "base/counters.h"
#include "mvcc/lock/lock_table_impl.h"

namespace rowan {
namespace {

constexpr uint64_t kNanosPerSecond = 1'000'000'000;

void FutexWake(LockRequest* request) {
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&request->word), FUTEX_WAKE_PRIVATE, INT_MAX,
          nullptr, nullptr, 0);
}

/// Returns on a wake-up, after `nanos`, or at once when the word changed; callers look again.
void FutexWait(LockRequest* request, uint32_t expected, uint64_t nanos) {
  timespec duration{};
  duration.tv_sec = static_cast<time_t>(nanos / kNanosPerSecond);
  duration.tv_nsec = static_cast<long>(nanos % kNanosPerSecond);
  syscall(SYS_futex, reinterpret_cast<uint32_t*>(&request->word), FUTEX_WAIT_PRIVATE, expected,
          &duration, nullptr, 0);
}

}  // namespace

void WakeList::Add(LockRequest* request) {
  if (count_ == kRoom) WakeAll();
  requests_[count_++] = request;
}

void WakeList::WakeAll() {
  for (size_t i = 0; i < count_; ++i) FutexWake(requests_[i]);
  count_ = 0;
}

void LockTableImpl::Poke(LockRequest* request) {
  request->word.fetch_add(LockRequest::kPoke, std::memory_order_acq_rel);
  FutexWake(request);
}

bool LockTableImpl::PublishAndSearch(Txn* txn, LockRequest* request) {
  std::lock_guard lock(graph_mutex);
  txn->waiting_for.store(request, std::memory_order_relaxed);
  return !txn->deadlock_detect || ResolveDeadlocks(txn);
}

Status LockTableImpl::Sleep(Txn* txn, LockRequest* request) {
  const uint64_t start = MonotonicNanos();
  const uint64_t deadline = start + txn->lock_wait_timeout_s * kNanosPerSecond;
  // A cycle can close without a new waiter: an implicit lock made explicit adds an edge to a
  // sleeper.
  uint64_t search_interval = kNanosPerSecond;
  uint64_t next_search = start + search_interval;
  for (;;) {
    const uint32_t word = request->word.load(std::memory_order_acquire);
    if ((word & LockRequest::kGranted) != 0) return Status::Ok();
    if (txn->chosen_as_victim.load(std::memory_order_acquire)) return Status(Code::kDeadlock);
    if (txn->interrupted.load(std::memory_order_acquire)) return Status(Code::kInterrupted);
    if (shutdown_sign != nullptr && shutdown_sign()) return Status(Code::kInterrupted);
    const uint64_t now = MonotonicNanos();
    if (now >= deadline) return Status(Code::kLockTimeout);
    if (now >= next_search) {
      if (!PublishAndSearch(txn, request)) return Status(Code::kDeadlock);
      search_interval *= 2;
      next_search = now + search_interval;
    }
    // Nobody wakes those who wait for rows of a rollback that a shutdown has left.
    const uint64_t next_look = std::min(next_search, now + kNanosPerSecond);
    FutexWait(request, word, std::min(deadline, next_look) - now);
  }
}

Status LockTableImpl::FinishWait(Txn* txn, LockRequest* request, Status verdict) {
  {
    // Behind this no search knows us any more, and no poke of `request` is under way.
    std::lock_guard lock(graph_mutex);
    txn->waiting_for.store(nullptr, std::memory_order_relaxed);
    txn->chosen_as_victim.store(false, std::memory_order_relaxed);
  }
  LockBucket* bucket = BucketOf(request->key);
  WakeList wakes;
  {
    ExclusiveLatchGuard guard(&bucket->latch);
    // The grant wins over everything that came at the same moment.
    if (request->granted()) verdict = Status::Ok();
    if (verdict.ok() && request->kind != LockKind::kInsertIntention) return verdict;
    Detach(bucket, request, &wakes);
  }
  pool.Return(request);
  return verdict;
}

Status LockTable::Wait(Txn* txn) {
  LockRequest* request = txn->queued;
  ROWAN_CHECK(request != nullptr);
  txn->queued = nullptr;
  Status verdict;
  if (!request->granted()) {
    AddCounter(Counter::kRowLockWaits);
    const uint64_t start = MonotonicMicros();
    if (impl_->PublishAndSearch(txn, request)) {
      verdict = impl_->Sleep(txn, request);
    } else {
      verdict = Status(Code::kDeadlock);
    }
    AddCounter(Counter::kRowLockTimeMicros, MonotonicMicros() - start);
  }
  verdict = impl_->FinishWait(txn, request, verdict);
  if (verdict.Is(Code::kLockTimeout)) AddCounter(Counter::kLockTimeouts);
  return verdict;
}

void LockTable::Interrupt(Txn* txn) {
  txn->interrupted.store(true, std::memory_order_release);
  std::lock_guard lock(impl_->graph_mutex);
  LockRequest* request = txn->waiting_for.load(std::memory_order_relaxed);
  if (request != nullptr) LockTableImpl::Poke(request);
}

}  // namespace rowan
