// SPDX-License-Identifier: GPL-2.0-only
#include "wal/commit_queue.h"

#include <cstddef>
#include <tuple>
#include <utility>

#include "base/assertions.h"
#include "base/futex.h"

namespace rowan {
namespace {

/// With more waiters than this a hand-off to the flusher thread pays for itself.
constexpr uint32_t kDeepQueue = 32;
/// The flusher keeps leading while at least this many wait, so that leadership does not flutter.
constexpr uint32_t kShallowQueue = 8;

// States of a waiter: about to sleep, asleep or nearly so, and how the wait ended.
constexpr uint32_t kWaiting = 0;
constexpr uint32_t kAsleep = 1;
constexpr uint32_t kSatisfied = 2;
constexpr uint32_t kLeads = 3;
constexpr uint32_t kGaveUp = 4;

}  // namespace

/// Lives on the stack of the waiting thread; linked and unlinked under the mutex.
struct CommitQueue::Waiter {
  Lsn lsn;
  Waiter* next = nullptr;
  uint32_t place = 0;
  std::atomic<uint32_t> state{kWaiting};

  [[nodiscard]] size_t word() const { return place / 32 % std::tuple_size_v<decltype(words_)>; }
  [[nodiscard]] uint32_t bit() const { return uint32_t{1} << place % 32; }
};

void CommitQueue::List::Push(Waiter* waiter) {
  waiter->next = nullptr;
  (last == nullptr ? first : last->next) = waiter;
  last = waiter;
}

CommitQueue::Waiter* CommitQueue::List::Pop() {
  Waiter* waiter = first;
  if (waiter == nullptr) return nullptr;
  first = waiter->next;
  if (first == nullptr) last = nullptr;
  waiter->next = nullptr;
  return waiter;
}

CommitQueue::CommitQueue(Lsn durable, std::function<void()> wake_flusher)
    : wake_flusher_(std::move(wake_flusher)), durable_(durable) {}

CommitQueue::Outcome CommitQueue::Wait(Lsn lsn) { return Sleep(Wish::kDurable, lsn); }

CommitQueue::Outcome CommitQueue::WaitForLead() { return Sleep(Wish::kLead, kNoLsn); }

CommitQueue::Outcome CommitQueue::Sleep(Wish wish, Lsn lsn) {
  Waiter self{.lsn = lsn};
  {
    const MutexLock lock(&mutex_);
    if (stopped_) return Outcome::kStopped;
    if (wish == Wish::kDurable && durable_.load(std::memory_order_relaxed) >= lsn) {
      return Outcome::kDone;
    }
    if (!led_) {
      led_ = true;
      return Outcome::kLead;
    }
    self.place = places_++;
    (wish == Wish::kDurable ? waiting_ : wanting_lead_).Push(&self);
  }
  const uint32_t state = Await(&self);
  ROWAN_DCHECK(state != kSatisfied || durable_.load(std::memory_order_relaxed) >= lsn);
  if (state == kSatisfied) return Outcome::kDone;
  return state == kLeads ? Outcome::kLead : Outcome::kStopped;
}

uint32_t CommitQueue::Await(Waiter* waiter) {
  uint32_t seen = kWaiting;
  // Fails if the wait is over already: then nobody wakes this thread.
  if (!waiter->state.compare_exchange_strong(seen, kAsleep, std::memory_order_acquire)) return seen;
  std::atomic<uint32_t>* const word = &words_[waiter->word()];
  for (;;) {
    // Changes after the state: if the state is still the old one, the sleep ends with the change.
    const uint32_t woken = word->load(std::memory_order_acquire);
    seen = waiter->state.load(std::memory_order_acquire);
    if (seen != kAsleep) return seen;
    FutexWaitWith(word, woken, waiter->bit());
  }
}

bool CommitQueue::FlusherLead() {
  const MutexLock lock(&mutex_);
  if (stopped_) return false;
  ROWAN_DCHECK(!handed_to_flusher_ || led_);
  if (std::exchange(handed_to_flusher_, false)) return true;
  if (led_) {
    flusher_wants_ = true;
    return false;
  }
  led_ = true;
  return true;
}

bool CommitQueue::TakeHanded() {
  const MutexLock lock(&mutex_);
  return !stopped_ && std::exchange(handed_to_flusher_, false);
}

CommitQueue::Waiter* CommitQueue::TakeSatisfiedLocked(Lsn durable, uint32_t* remaining) {
  // Waiters that stay queued while a batch is written are all in the next one, so each waiter is
  // examined at most twice.
  List satisfied;
  List left;
  while (Waiter* waiter = waiting_.Pop()) {
    if (waiter->lsn <= durable) {
      satisfied.Push(waiter);
    } else {
      left.Push(waiter);
      ++*remaining;
    }
  }
  waiting_ = left;
  return satisfied.first;
}

CommitQueue::Waiter* CommitQueue::ChooseNextLocked(Leader leader, uint32_t remaining) {
  ROWAN_DCHECK(led_ && !handed_to_flusher_);
  Waiter* next = wanting_lead_.Pop();
  if (next != nullptr) return next;
  const uint32_t deep = leader == Leader::kFlusher ? kShallowQueue : kDeepQueue;
  if (remaining >= deep || flusher_wants_) {
    flusher_wants_ = false;
    handed_to_flusher_ = true;
    return nullptr;
  }
  next = waiting_.Pop();
  if (next == nullptr) led_ = false;
  return next;
}

bool CommitQueue::HandOn(Lsn durable, Leader leader) {
  uint32_t remaining = 0;
  Waiter* satisfied;
  {
    const MutexLock lock(&mutex_);
    ROWAN_CHECK(led_);
    ROWAN_CHECK(durable >= durable_.load(std::memory_order_relaxed));
    durable_.store(durable, std::memory_order_release);
    satisfied = TakeSatisfiedLocked(durable, &remaining);
  }
  // Woken first: what they append while leadership moves on is part of the next batch already.
  WakeAll(satisfied, kSatisfied);
  Waiter* next = nullptr;
  bool flusher = false;
  {
    const MutexLock lock(&mutex_);
    if (stopped_) return false;
    next = ChooseNextLocked(leader, remaining);
    flusher = handed_to_flusher_;
    if (flusher && leader == Leader::kFlusher) {
      handed_to_flusher_ = false;
      return true;
    }
  }
  if (next != nullptr) WakeAll(next, kLeads);
  if (flusher) wake_flusher_();
  return false;
}

void CommitQueue::WakeAll(Waiter* first, uint32_t state) {
  std::array<uint32_t, std::tuple_size_v<decltype(words_)>> asleep{};
  while (first != nullptr) {
    // It may be gone as soon as it sees the state.
    Waiter* const waiter = std::exchange(first, first->next);
    const size_t word = waiter->word();
    const uint32_t bit = waiter->bit();
    const uint32_t before = waiter->state.exchange(state, std::memory_order_acq_rel);
    if (before == kAsleep) asleep[word] |= bit;
  }
  for (size_t i = 0; i < asleep.size(); ++i) {
    if (asleep[i] == 0) continue;
    words_[i].fetch_add(1, std::memory_order_release);
    FutexWakeWith(&words_[i], asleep[i]);
  }
}

void CommitQueue::Stop() {
  Waiter* waiting;
  Waiter* wanting;
  {
    const MutexLock lock(&mutex_);
    stopped_ = true;
    waiting = std::exchange(waiting_, {}).first;
    wanting = std::exchange(wanting_lead_, {}).first;
  }
  WakeAll(waiting, kGaveUp);
  WakeAll(wanting, kGaveUp);
}

}  // namespace rowan
