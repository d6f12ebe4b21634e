// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/commit_ring.h"

#include <algorithm>
#include <bit>
#include <thread>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Committing lasts as long as appending one small group; a committer preempted meanwhile needs our
/// processor.
constexpr int kSpinRounds = 200;

/// Steps a commit spends on advancing low_txn: enough to keep up, too few to be noticed.
constexpr uint64_t kCommitSteps = 256;

constexpr TxnOutcome kSeenByAll(TxnOutcome::kCommitted, Csn(0));

inline void Pause() {
#if defined(__x86_64__)
  __builtin_ia32_pause();
#endif
}

}  // namespace

CommitRing::CommitRing(uint64_t size)
    : mask_(size - 1),
      entries_(std::make_unique<Entry[]>(size)),
      overflow_filter_(std::make_unique<std::atomic<uint32_t>[]>(kFilterSize)) {
  ROWAN_CHECK(std::has_single_bit(size));
}

void CommitRing::Reset(TxnId next) {
  const MutexLock lock(&overflow_mutex_);
  uint64_t low = next.value();
  for (const auto& [id, outcome] : overflow_) {
    if (!outcome.finished()) low = std::min(low, id);
  }
  low_.store(low, std::memory_order_release);
}

void CommitRing::AddToOverflow(uint64_t id, TxnOutcome outcome) {
  ROWAN_DCHECK(!overflow_.contains(id));
  overflow_[id] = outcome;
  if (!outcome.finished()) overflow_running_.fetch_add(1, std::memory_order_release);
  overflow_size_.store(overflow_.size(), std::memory_order_release);
  FilterOf(id).fetch_add(1, std::memory_order_release);
}

void CommitRing::AddUnfinished(TxnId id) {
  const MutexLock lock(&overflow_mutex_);
  AddToOverflow(id.value(), TxnOutcome());
  if (id.value() < low_.load(std::memory_order_relaxed)) {
    low_.store(id.value(), std::memory_order_release);
  }
}

void CommitRing::Claim(TxnId id, Csn horizon) {
  Entry& entry = EntryOf(id.value());
  const uint64_t old_id = entry.id.load(std::memory_order_relaxed);
  const TxnOutcome old(entry.outcome.load(std::memory_order_acquire));
  ROWAN_DCHECK(old_id == 0 || (old_id < id.value() && ((id.value() - old_id) & mask_) == 0));
  ROWAN_DCHECK(id >= low_txn());
  const bool occupied = !old.finished();
  if (occupied || (old_id != 0 && old.csn() >= horizon)) {
    const MutexLock lock(&overflow_mutex_);
    AddToOverflow(occupied ? id.value() : old_id, occupied ? TxnOutcome() : old);
  }
  if (occupied) return;
  // A reader of the old id that sees the new outcome also sees that the id changed.
  entry.id.store(kChanging, std::memory_order_release);
  entry.outcome.store(TxnOutcome().word(), std::memory_order_release);
  entry.id.store(id.value(), std::memory_order_release);
}

void CommitRing::StoreOutcome(uint64_t id, TxnOutcome outcome) {
  Entry& entry = EntryOf(id);
  if (entry.id.load(std::memory_order_acquire) == id) {
    ROWAN_DCHECK(!TxnOutcome(entry.outcome.load(std::memory_order_relaxed)).finished());
    entry.outcome.store(outcome.word(), std::memory_order_seq_cst);
    return;
  }
  const MutexLock lock(&overflow_mutex_);
  const auto place = overflow_.find(id);
  ROWAN_CHECK(place != overflow_.end());
  ROWAN_DCHECK(!place->second.finished());
  place->second = outcome;
  ROWAN_DCHECK(!outcome.finished() || overflow_running_.load(std::memory_order_relaxed) != 0);
  if (outcome.finished()) overflow_running_.fetch_sub(1, std::memory_order_release);
}

void CommitRing::SetCommitting(TxnId id) {
  StoreOutcome(id.value(), TxnOutcome(TxnOutcome::kCommitting, Csn(0)));
}

void CommitRing::Finish(TxnId id, TxnOutcome outcome, TxnId next) {
  ROWAN_DCHECK(outcome.finished() && id < next);
  StoreOutcome(id.value(), outcome);
  // Usually the oldest writer advances over all that have finished. Two that finish at once may
  // each leave it to the other; so every 64th writer tries, too, and so does the horizon refresh.
  if (id == low_txn() || (id.value() & 63) == 0) AdvanceLow(next, kCommitSteps);
}

TxnOutcome CommitRing::LookInOverflow(uint64_t id) const {
  if (FilterOf(id).load(std::memory_order_acquire) == 0) return kSeenByAll;
  const MutexLock lock(&overflow_mutex_);
  overflow_looks_.fetch_add(1, std::memory_order_relaxed);
  const auto place = overflow_.find(id);
  return place == overflow_.end() ? kSeenByAll : place->second;
}

TxnOutcome CommitRing::Look(uint64_t id) const {
  const Entry& entry = EntryOf(id);
  if (entry.id.load(std::memory_order_acquire) == id) {
    const TxnOutcome outcome(entry.outcome.load(std::memory_order_acquire));
    if (entry.id.load(std::memory_order_acquire) == id) return outcome;
  }
  return LookInOverflow(id);
}

TxnOutcome CommitRing::Find(TxnId id) const {
  for (int round = 0;; ++round) {
    const TxnOutcome outcome = Look(id.value());
    if (outcome.state() != TxnOutcome::kCommitting) return outcome;
    if (round < kSpinRounds) {
      Pause();
    } else {
      std::this_thread::yield();
    }
  }
}

bool CommitRing::IsRunning(TxnId id) const {
  return id >= low_txn() && !Look(id.value()).finished();
}

void CommitRing::AdvanceLow(TxnId next, uint64_t steps_max) {
  if (!low_latch_.TryLockExclusive()) return;
  const uint64_t start = low_.load(std::memory_order_relaxed);
  uint64_t low = start;
  // Another thread may have been further with a later `next`.
  const uint64_t end = std::min(next.value(), start + steps_max);
  for (; low < end; ++low) {
    const Entry& entry = EntryOf(low);
    if (entry.id.load(std::memory_order_acquire) == low) {
      // Only the claim of a later id changes the entry of a finished one: no second check needed.
      if (!TxnOutcome(entry.outcome.load(std::memory_order_acquire)).finished() &&
          !Look(low).finished()) {
        break;
      }
    } else if (overflow_running_.load(std::memory_order_acquire) != 0 &&
               !LookInOverflow(low).finished()) {
      break;
    }
  }
  ROWAN_DCHECK(low >= start);
  if (low != start) low_.store(low, std::memory_order_release);
  low_latch_.UnlockExclusive();
}

void CommitRing::PruneOverflow(FunctionRef<bool(TxnId, TxnOutcome)> is_needed) {
  const MutexLock lock(&overflow_mutex_);
  std::erase_if(overflow_, [&](const auto& entry) {
    const auto& [id, outcome] = entry;
    if (!outcome.finished() || is_needed(TxnId(id), outcome)) return false;
    ROWAN_DCHECK(FilterOf(id).load(std::memory_order_relaxed) != 0);
    FilterOf(id).fetch_sub(1, std::memory_order_release);
    return true;
  });
  overflow_size_.store(overflow_.size(), std::memory_order_release);
}

}  // namespace rowan
