// SPDX-License-Identifier: GPL-2.0-only
// Scheduler: threads take turns, and a seed decides who goes on. A program with threads then does
// the same thing every time it runs: a failure that needs one interleaving in a million comes back
// at once.
//
// One thread runs at a time. At every call that waits, wakes, locks or sleeps (intercept.cc,
// beneath the unchanged program) the turn may pass to another. Time is simulated: it advances a
// little with each such call, and to the next deadline when everybody waits, so sleeping costs
// nothing. When everybody waits without a deadline, that is a deadlock: it is printed and the
// process aborts.
//
// What stays outside: the order of atomic operations between two such calls. Free-running threads
// under ThreadSanitizer look for those. Addresses must repeat too, so runs are forked from one
// process without address randomisation (isolated_run.h).
//
// Thread safety: the thread that has the turn may call everything; nobody else may call anything.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "base/random.h"

namespace rowan::simulation {

struct SchedulerOptions {
  uint64_t seed = 1;
  /// The turn passes on at one in so many calls that need not wait; always at those that must.
  uint32_t switch_one_in = 16;
};

class Scheduler {
 public:
  /// Runs `program` and all threads it starts; they have ended when this returns. The result is a
  /// digest of every decision: equal digests mean equal runs.
  static uint64_t Run(const SchedulerOptions& options, const std::function<void()>& program);

  /// Of the calling thread; nullptr in a thread that does not take turns.
  static Scheduler* Current();

  /// Time in nanoseconds; 0 as a deadline means none.
  [[nodiscard]] uint64_t Now();

  /// A place where the turn may pass on.
  void Point();
  /// Lets somebody else go on, if anybody can.
  void Yield();
  /// Waits until woken at `address` or until `deadline`; false when the time was up.
  bool Wait(const void* address, uint64_t deadline);
  void SleepUntil(uint64_t deadline) { Wait(nullptr, deadline); }
  /// Wakes up to `count` threads waiting at `address`, whom, the seed decides; returns how many.
  uint32_t Wake(const void* address, uint32_t count);
  /// Mixes a value into the digest.
  void Record(uint64_t value);

  /// A thread's place in the order of turns. The record lives as long as the scheduler.
  struct Thread;
  /// For a thread about to be started: it may go on from now on.
  Thread* Add();
  /// First thing the new thread does: waits for its first turn.
  void Enter(Thread* self);
  /// Last thing a thread does. The next one goes on when the kernel has forgotten this thread.
  void Leave(Thread* self);
  /// Waits until `thread` has left.
  void AwaitEnd(Thread* thread);

 private:
  explicit Scheduler(const SchedulerOptions& options);
  ~Scheduler();

  [[nodiscard]] bool CanRun(const Thread& thread) const;
  Thread* Choose();
  void AdvanceToDeadline();
  void PassTo(Thread* next);
  /// How many threads wait at this address or at others that share its place in the table.
  uint32_t& WaitersNear(const void* address);
  void StopWaiting(Thread* thread);
  void AwaitTurn(Thread* self);
  [[noreturn]] void ReportDeadlock();

  const SchedulerOptions options_;
  Random random_;
  uint64_t now_;
  uint64_t digest_;
  std::vector<std::unique_ptr<Thread>> threads_;
  std::vector<Thread*> there_;            ///< those that have not left, oldest first
  std::array<uint32_t, 1024> waiters_{};  ///< how many wait, by a hash of where
  Thread* running_ = nullptr;
  int leaving_tid_ = 0;  ///< kernel id of the thread that left last, until it is gone
};

}  // namespace rowan::simulation
