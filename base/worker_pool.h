// SPDX-License-Identifier: GPL-2.0-only
// WorkerPool: threads that are lent for a while to whoever has work that comes in steps. The owner
// of the work does steps itself, so it never waits for a thread to become free: it takes what is
// free, before each of its own steps, and is done when there is no step left and those lent have
// ended theirs. A thread that was lent goes back between two steps if another owner has none: no
// long work keeps all of them.
//
// A slot's `job` is what its thread is lent to; an owner that finds it null claims it, and its
// thread alone sets it to null again. The owner's job outlives that, as the thread leaves the count
// of helpers last.
// Thread safety: Run and SetThreadsMax by any thread. Once for all work that runs at once, threads
// from `threads_max` on are not lent.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>

#include "base/status.h"
#include "base/thread_loop.h"

namespace rowan {

class WorkerPool {
 public:
  static constexpr uint32_t kThreadsMax = 64;

  /// Threads appear as "rowan-<name><number>", and start when they are first needed.
  WorkerPool(std::string name, uint32_t threads_max);
  /// REQUIRES: nothing runs.
  ~WorkerPool();
  WorkerPool(const WorkerPool&) = delete;
  WorkerPool& operator=(const WorkerPool&) = delete;

  /// For later loans; at most kThreadsMax; 0: none.
  void SetThreadsMax(uint32_t threads_max) { threads_max_.store(threads_max); }
  [[nodiscard]] uint32_t threads_max() const { return threads_max_.load(); }

  /// A step by the calling thread or one of those that help. Ok: there may be another one.
  /// kEndOfRange: this thread has no more to do. Otherwise the work has failed: no step begins.
  using Step = std::function<Status()>;
  /// Does all of it, with at most so many helpers at a time. The first failure.
  Status Run(uint32_t helpers_max, const Step& step);

  /// Steps that were done by helpers.
  [[nodiscard]] uint64_t steps_of_helpers() const { return steps_of_helpers_.load(); }

 private:
  /// Work under way, of its owner's Run.
  struct Job {
    explicit Job(const Step& work) : step(work) {}

    const Step& step;
    std::atomic<bool> failed{false};   ///< set by the first step that fails, read by all
    Status failure;                    ///< written by its setter, read when the helpers have ended
    std::atomic<uint32_t> helpers{0};  ///< threads lent; the owner sleeps on it
    bool is_waiting = false;           ///< it counts in `waiting_`; the owner's
  };
  struct Slot {
    std::atomic<Job*> job{nullptr};  ///< published by the owner, read by the thread
    bool is_started = false;         ///< of whoever has the claim
    std::unique_ptr<ThreadLoop> thread;
  };

  void Engage(Job* job, uint32_t helpers_max);
  bool Lend(Slot* slot, Job* job);
  void NoteWaiting(Job* job, bool waits);
  ThreadLoop::Next Work(Slot* slot);
  void Help(Job* job);
  static bool DoStep(Job* job);

  std::atomic<uint32_t> threads_max_;
  std::atomic<uint32_t> waiting_{0};  ///< owners without a helper; a hint for the helpers of others
  std::atomic<uint64_t> steps_of_helpers_{0};
  std::array<Slot, kThreadsMax> slots_;
};

}  // namespace rowan
