// SPDX-License-Identifier: GPL-2.0-only
// Deadlock search: breadth first over "is blocked by", from the transaction that is about to sleep,
// all under the graph mutex. Only sleepers are nodes, and they cannot go away meanwhile.
//
// A waiting request is blocked by what conflicts with it before it in its queue. The walk goes
// backwards and stops at the first blocked exclusive request of the same part: that one is blocked
// by everything before it that could block us, so a queue of n writers costs n steps and not n
// squared.
#include <algorithm>

#include "base/counters.h"
#include "base/format.h"
#include "mvcc/lock/lock_table_impl.h"

namespace rowan {
namespace {

/// Does `ahead`, standing before `waiter`, keep it waiting?
bool BlocksWaiter(const LockRequest* ahead, const LockRequest* waiter) {
  if (ahead->key != waiter->key || ahead->owner == waiter->owner) return false;
  const bool past_waiting = waiter->upgrade || waiter->kind == LockKind::kInsertIntention;
  if (past_waiting && !ahead->granted()) return false;
  return LocksConflict(ahead->mode, ahead->kind, waiter->mode, waiter->kind);
}

/// A blocker whose own expansion reaches everything before it that could block the same waiter.
bool SpeaksForThoseBefore(const LockRequest* blocker) {
  const Txn* owner = blocker->owner;
  return !blocker->granted() && !blocker->upgrade && blocker->mode == LockMode::kExclusive &&
         owner->waiting_for.load(std::memory_order_relaxed) == blocker &&
         !owner->chosen_as_victim.load(std::memory_order_relaxed);
}

/// What a rollback throws away: changes, and rows that were found and locked.
uint64_t WorkDone(const Txn& txn) {
  constexpr uint64_t kUndoBytesPerLock = 32;  // about the undo record of a small change
  return txn.undo_bytes + kUndoBytesPerLock * (txn.lock_count.load(std::memory_order_relaxed) +
                                               txn.folded_locks.load(std::memory_order_relaxed));
}

}  // namespace

bool LockTableImpl::AddBlocker(size_t node, const LockRequest* blocker) {
  Txn* owner = blocker->owner;
  if (owner == nodes.front().txn) return true;
  LockRequest* waits_for = owner->waiting_for.load(std::memory_order_relaxed);
  if (waits_for == nullptr || owner->search_mark == search_number) return false;
  owner->search_mark = search_number;
  // A victim gives up, and a granted sleeper is about to go on: neither waits.
  if (waits_for->granted() || owner->chosen_as_victim.load(std::memory_order_relaxed)) return false;
  nodes.push_back({owner, waits_for, node});
  return false;
}

bool LockTableImpl::Expand(size_t node) {
  const LockRequest* waiter = nodes[node].request;
  ExclusiveLatchGuard guard(&BucketOf(waiter->key)->latch);
  if (waiter->granted()) return false;
  const LockRequest* ahead = waiter->chain_previous;
  for (; ahead != nullptr; ahead = ahead->chain_previous) {
    if (!BlocksWaiter(ahead, waiter)) continue;
    if (AddBlocker(node, ahead)) return true;
    if (SpeaksForThoseBefore(ahead)) break;
  }
  return false;
}

size_t LockTableImpl::FindCycle(Txn* start) {
  ++search_number;
  nodes.clear();
  nodes.push_back({start, start->waiting_for.load(std::memory_order_relaxed), 0});
  start->search_mark = search_number;
  for (size_t node = 0; node < nodes.size(); ++node) {
    if (Expand(node)) return node;
  }
  return kNoCycle;
}

Txn* LockTableImpl::ChooseVictim(size_t last) const {
  Txn* victim = nodes[0].txn;  // on a tie the one that closed the cycle: it has not slept yet
  for (size_t node = last; node != 0; node = nodes[node].parent) {
    if (WorkDone(*nodes[node].txn) < WorkDone(*victim)) victim = nodes[node].txn;
  }
  return victim;
}

void LockTableImpl::RememberDeadlock(size_t last, const Txn* victim) {
  last_deadlock = "waiting in a circle:";
  for (size_t node = last;; node = nodes[node].parent) {
    const LockRequest* request = nodes[node].request;
    last_deadlock += Format(
        " transaction {} ({} undo records, {} locks) for a lock {} on index {}{}",
        nodes[node].txn->id.load(std::memory_order_relaxed), nodes[node].txn->undo_records,
        nodes[node].txn->lock_count.load(std::memory_order_relaxed) +
            nodes[node].txn->folded_locks.load(std::memory_order_relaxed),
        request->mode == LockMode::kShared ? "S" : "X", request->key.index.value(),
        nodes[node].txn == victim ? " [rolled back];" : ";");
    if (node == 0) break;
  }
}

bool LockTableImpl::ResolveDeadlocks(Txn* txn) {
  // A transaction without locks keeps nobody waiting: it can be in no cycle. Whoever makes one of
  // its implicit locks explicit publishes itself after that, and then finds us.
  const LockRequest* newest = txn->locks.load(std::memory_order_acquire);
  if (newest == txn->waiting_for.load(std::memory_order_relaxed) &&
      txn->lock_count.load(std::memory_order_relaxed) == 1) {
    return true;
  }
  for (;;) {
    const size_t last = FindCycle(txn);
    if (last == kNoCycle) return true;
    AddCounter(Counter::kDeadlocks);
    Txn* victim = ChooseVictim(last);
    RememberDeadlock(last, victim);
    if (victim == txn) return false;
    victim->chosen_as_victim.store(true, std::memory_order_release);
    Poke(victim->waiting_for.load(std::memory_order_relaxed));
  }
}

}  // namespace rowan
