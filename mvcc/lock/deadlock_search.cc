// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/deadlock_search.h"

#include <atomic>
#include <ctime>

#include "base/assertions.h"
#include "base/counters.h"
#include "mvcc/txn/txn.h"

namespace rowan {
namespace {

/// Locks of one transaction in the report of a deadlock.
constexpr size_t kLocksReported = 8;

/// A blocker whose own expansion reaches everything before it that could block the same waiter.
bool SpeaksForThoseBefore(const LockRequest* blocker) {
  const Txn* owner = blocker->owner;
  return !blocker->granted() && !blocker->upgrade && blocker->mode == LockMode::kExclusive &&
         owner->locks.waiting_for.load(std::memory_order_relaxed) == blocker &&
         !owner->locks.chosen_as_victim.load(std::memory_order_relaxed);
}

/// Work that a rollback discards: changes, and rows found and locked.
uint64_t WorkDone(const Txn& txn) {
  constexpr uint64_t kUndoBytesPerLock = 32;  // about the undo record of a small change
  return txn.undo.bytes + kUndoBytesPerLock * txn.locks.count();
}

/// Its list cannot change: it sleeps, and cannot leave while the graph mutex is held.
std::vector<LockInfo> NewestHeld(const Txn& txn) {
  std::vector<LockInfo> held;
  const LockRequest* request = txn.locks.newest.load(std::memory_order_acquire);
  for (; request != nullptr && held.size() < kLocksReported; request = request->txn_next) {
    if (request->granted()) held.push_back(request->Describe());
  }
  return held;
}

}  // namespace

bool DeadlockSearch::AddBlocker(size_t node, const LockRequest* blocker) {
  ROWAN_DCHECK(node < nodes_.size() && blocker->owner != nodes_[node].txn);
  Txn* owner = blocker->owner;
  if (owner == nodes_.front().txn) return true;
  LockRequest* waits_for = owner->locks.waiting_for.load(std::memory_order_relaxed);
  if (waits_for == nullptr || owner->locks.search_mark == search_number_) return false;
  owner->locks.search_mark = search_number_;
  // A victim gives up, and a granted sleeper is about to go on: neither waits.
  if (waits_for->granted() || owner->locks.chosen_as_victim.load(std::memory_order_relaxed))
    return false;
  nodes_.push_back({owner, waits_for, node});
  return false;
}

bool DeadlockSearch::Expand(size_t node) {
  const LockRequest* waiter = nodes_[node].request;
  ExclusiveLatchGuard guard(&buckets_->Of(waiter->key)->latch);
  if (waiter->granted()) return false;
  const LockRequest* ahead = waiter->chain_previous;
  for (; ahead != nullptr; ahead = ahead->chain_previous) {
    if (!ahead->Blocks(*waiter)) continue;
    if (AddBlocker(node, ahead)) return true;
    if (SpeaksForThoseBefore(ahead)) break;
  }
  return false;
}

void DeadlockSearch::ReportBlockers(const LockRequest* waiter,
                                    void (*blocked)(void* waiter, void* holder)) const {
  const ExclusiveLatchGuard guard(&buckets_->Of(waiter->key)->latch);
  if (waiter->granted()) return;
  const LockRequest* ahead = waiter->chain_previous;
  for (; ahead != nullptr; ahead = ahead->chain_previous) {
    void* holder = ahead->owner->locks.replica_worker;
    if (holder != nullptr && ahead->Blocks(*waiter)) {
      blocked(waiter->owner->locks.replica_worker, holder);
    }
  }
}

size_t DeadlockSearch::FindCycle(Txn* start) {
  ROWAN_DCHECK(start->locks.waiting_for.load(std::memory_order_relaxed) != nullptr);
  ++search_number_;
  nodes_.clear();
  nodes_.push_back({start, start->locks.waiting_for.load(std::memory_order_relaxed), 0});
  start->locks.search_mark = search_number_;
  for (size_t node = 0; node < nodes_.size(); ++node) {
    if (Expand(node)) return node;
  }
  return kNoCycle;
}

Txn* DeadlockSearch::ChooseVictim(size_t last) const {
  ROWAN_DCHECK(last < nodes_.size() && nodes_[0].parent == 0);
  Txn* victim = nodes_[0].txn;  // on a tie the one that closed the cycle: it has not slept yet
  for (size_t node = last; node != 0; node = nodes_[node].parent) {
    ROWAN_DCHECK(nodes_[node].parent < node);
    if (WorkDone(*nodes_[node].txn) < WorkDone(*victim)) victim = nodes_[node].txn;
  }
  return victim;
}

void DeadlockSearch::Remember(size_t last, const Txn* victim) {
  ++last_.number;
  last_.unix_seconds = std::time(nullptr);
  last_.members.clear();
  // From the end of the walk to its start, reversed: each waits for the next one.
  for (size_t node = last;; node = nodes_[node].parent) {
    const Txn& txn = *nodes_[node].txn;
    last_.members.insert(last_.members.begin(), {.id = txn.txn_id(),
                                                 .undo_records = txn.undo.records,
                                                 .locks = txn.locks.count(),
                                                 .wanted = nodes_[node].request->Describe(),
                                                 .held = NewestHeld(txn),
                                                 .victim = &txn == victim});
    if (node == 0) break;
  }
}

bool DeadlockSearch::Resolve(Txn* txn) {
  // A transaction without locks blocks none: it is in no cycle. A thread that makes one of its
  // implicit locks explicit publishes itself afterwards, and then finds us.
  const LockRequest* newest = txn->locks.newest.load(std::memory_order_acquire);
  if (newest == txn->locks.waiting_for.load(std::memory_order_relaxed) &&
      txn->locks.request_count.load(std::memory_order_relaxed) == 1) {
    return true;
  }
  for (;;) {
    const size_t last = FindCycle(txn);
    if (last == kNoCycle) return true;
    AddCounter(Counter::kDeadlocks);
    Txn* victim = ChooseVictim(last);
    Remember(last, victim);
    if (victim == txn) return false;
    ROWAN_DCHECK(victim->locks.waiting_for.load(std::memory_order_relaxed) != nullptr);
    ROWAN_DCHECK(!victim->locks.chosen_as_victim.load(std::memory_order_relaxed));
    victim->locks.chosen_as_victim.store(true, std::memory_order_release);
    victim->locks.waiting_for.load(std::memory_order_relaxed)->WakeToLook();
  }
}

}  // namespace rowan
