// SPDX-License-Identifier: GPL-2.0-only
// CommitQueue: which thread makes the log durable, and which wait for it.
//
// At most one thread leads. A thread that needs an LSN durable leads if no other does: a lone
// thread writes and syncs without contention. Otherwise it queues and sleeps.
// The leader reads the tail, writes, syncs and then hands on: publish the durable LSN, wake exactly
// the waiters it satisfies, give leadership to one of the rest. When many remain, the flusher
// thread leads instead, because its batches grow while all other threads only append.
//
// Life of a waiter: waiting -> done | lead | stopped, once; after that it may be gone. It sleeps at
// a place, one bit of a word: those whose wait ends together are woken together, by one call.
// Thread safety: all members from any thread unless said otherwise.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>

#include "base/ids.h"
#include "base/mutex.h"

namespace rowan {

class CommitQueue {
 public:
  enum class Outcome { kDone, kLead, kStopped };
  enum class Leader { kSession, kFlusher };

  /// `wake_flusher` is called, without locks, when leadership waits for TakeHanded.
  CommitQueue(Lsn durable, std::function<void()> wake_flusher);

  [[nodiscard]] Lsn durable() const { return durable_.load(std::memory_order_acquire); }
  [[nodiscard]] const std::atomic<Lsn>& durable_word() const { return durable_; }

  /// Waits until `lsn` is durable (kDone) or this thread leads (kLead): a leader must make the log
  /// durable and call HandOn.
  [[nodiscard]] Outcome Wait(Lsn lsn);
  /// Waits until this thread leads, whatever is durable. Never kDone.
  [[nodiscard]] Outcome WaitForLead();

  /// Flusher thread only. True: leads now, because it was handed leadership or no thread leads.
  /// False: leadership will be handed to it and `wake_flusher` called.
  [[nodiscard]] bool FlusherLead();
  /// Flusher thread only. True if leadership was handed to it.
  [[nodiscard]] bool TakeHanded();

  /// Leader only. True if leadership stays with the caller, which must then lead again; only the
  /// flusher gets that.
  [[nodiscard]] bool HandOn(Lsn durable, Leader leader);

  /// Permanent: wakes all waiters; no thread leads from then on.
  void Stop();

 private:
  struct Waiter;
  /// First in, first out; linked through the waiters.
  struct List {
    Waiter* first = nullptr;
    Waiter* last = nullptr;
    void Push(Waiter* waiter);
    Waiter* Pop();
  };

  /// Which list the thread queues in.
  enum class Wish { kDurable, kLead };
  Outcome Sleep(Wish wish, Lsn lsn);
  Waiter* TakeSatisfiedLocked(Lsn durable, uint32_t* remaining) ROWAN_REQUIRES(mutex_);
  Waiter* ChooseNextLocked(Leader leader, uint32_t remaining) ROWAN_REQUIRES(mutex_);
  /// How its wait has ended.
  uint32_t Await(Waiter* waiter);
  /// Ends the waits of `first` and those linked to it.
  void WakeAll(Waiter* first, uint32_t state);

  const std::function<void()> wake_flusher_;
  alignas(64) std::atomic<Lsn> durable_;  // stored by the leader, read by any thread

  /// Each has 32 places to sleep at, given out in turns, and counts how often some were woken. Two
  /// waiters may share a place: one that must wait on goes back to sleep.
  alignas(64) std::array<std::atomic<uint32_t>, 4> words_{};

  alignas(64) Mutex mutex_{LatchRank::kCommitQueue};
  List waiting_ ROWAN_GUARDED_BY(mutex_);
  List wanting_lead_ ROWAN_GUARDED_BY(mutex_);
  /// A thread leads, or leadership is being handed to the flusher.
  bool led_ ROWAN_GUARDED_BY(mutex_) = false;
  bool handed_to_flusher_ ROWAN_GUARDED_BY(mutex_) = false;
  bool flusher_wants_ ROWAN_GUARDED_BY(mutex_) = false;
  bool stopped_ ROWAN_GUARDED_BY(mutex_) = false;
  uint32_t places_ ROWAN_GUARDED_BY(mutex_) = 0;  ///< given to waiters so far
};

}  // namespace rowan
