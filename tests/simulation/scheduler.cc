// SPDX-License-Identifier: GPL-2.0-only
#include "tests/simulation/scheduler.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>

#include "tests/simulation/real_calls.h"

namespace rowan::simulation {
namespace {

// How time passes: roughly as on a machine where a lock costs half a microsecond with its work.
constexpr uint64_t kStartNanos = uint64_t{1} << 50;
constexpr uint64_t kPointNanos = 500;
constexpr uint64_t kYieldNanos = 2000;
constexpr uint64_t kAskNanos = 20;

thread_local constinit Scheduler* current_scheduler = nullptr;

}  // namespace

struct Scheduler::Thread {
  uint32_t number = 0;
  bool waiting = false;
  bool timed_out = false;
  bool left = false;
  const void* address = nullptr;  ///< where it waits; nullptr while it only sleeps
  uint64_t deadline = 0;
  alignas(64) std::atomic<uint32_t> turn{0};  ///< futex; 1: go on
};

Scheduler::Scheduler(const SchedulerOptions& options)
    : options_(options), random_(options.seed), now_(kStartNanos), digest_(options.seed) {}

Scheduler::~Scheduler() = default;

Scheduler* Scheduler::Current() { return current_scheduler; }

uint64_t Scheduler::Now() {
  now_ += kAskNanos;
  return now_;
}

void Scheduler::Record(uint64_t value) {
  digest_ = (digest_ ^ value) * 0x9E3779B97F4A7C15ull;
  digest_ ^= digest_ >> 32;
}

bool Scheduler::CanRun(const Thread& thread) const {
  return !thread.waiting || (thread.deadline != 0 && thread.deadline <= now_);
}

Scheduler::Thread* Scheduler::Choose() {
  for (;;) {
    uint64_t able = 0;
    for (const Thread* thread : there_) able += CanRun(*thread) ? 1 : 0;
    if (able == 0) {
      AdvanceToDeadline();
      continue;
    }
    uint64_t skipped = able == 1 ? 0 : random_.Below(able);
    for (Thread* thread : there_) {
      if (CanRun(*thread) && skipped-- == 0) return thread;
    }
  }
}

void Scheduler::AdvanceToDeadline() {
  uint64_t next = 0;
  for (const Thread* thread : there_) {
    if (thread->deadline == 0) continue;
    next = next == 0 ? thread->deadline : std::min(next, thread->deadline);
  }
  if (next == 0) ReportDeadlock();
  now_ = std::max(now_, next);
}

void Scheduler::ReportDeadlock() {
  std::fprintf(stderr, "simulation: every thread waits, none has a deadline (seed %llu)\n",
               static_cast<unsigned long long>(options_.seed));
  for (const Thread* thread : there_) {
    std::fprintf(stderr, "  thread %u waits at %p\n", thread->number, thread->address);
  }
  std::abort();
}

void Scheduler::PassTo(Thread* next) {
  if (next->waiting) {  // chosen although nobody woke it: its time is up
    next->timed_out = true;
    StopWaiting(next);
  }
  Record(now_ ^ (uint64_t{next->number} << 48));
  Thread* const self = running_;
  if (next == self) return;
  running_ = next;
  next->turn.store(1, std::memory_order_release);
  ROWAN_REAL(syscall)(SYS_futex, &next->turn, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
  if (!self->left) AwaitTurn(self);
}

void Scheduler::AwaitTurn(Thread* self) {
  while (self->turn.load(std::memory_order_acquire) == 0) {
    ROWAN_REAL(syscall)(SYS_futex, &self->turn, FUTEX_WAIT_PRIVATE, 0, nullptr, nullptr, 0);
  }
  self->turn.store(0, std::memory_order_relaxed);
  // A thread that is ending still gives memory back; that must not happen beside us.
  while (leaving_tid_ != 0 && ROWAN_REAL(syscall)(SYS_tgkill, getpid(), leaving_tid_, 0) == 0) {
    ROWAN_REAL(syscall)(SYS_sched_yield);
  }
  leaving_tid_ = 0;
}

void Scheduler::Point() {
  now_ += kPointNanos;
  if (random_.OneIn(options_.switch_one_in)) PassTo(Choose());
}

void Scheduler::Yield() {
  now_ += kYieldNanos;
  PassTo(Choose());
}

bool Scheduler::Wait(const void* address, uint64_t deadline) {
  Thread* const self = running_;
  self->waiting = true;
  self->timed_out = false;
  self->address = address;
  self->deadline = deadline;
  ++WaitersNear(address);
  now_ += kPointNanos;
  PassTo(Choose());
  return !self->timed_out;
}

uint32_t& Scheduler::WaitersNear(const void* address) {
  const uint64_t mixed = reinterpret_cast<uintptr_t>(address) * 0x9E3779B97F4A7C15ull;
  return waiters_[(mixed >> 32) % waiters_.size()];
}

void Scheduler::StopWaiting(Thread* thread) {
  --WaitersNear(thread->address);
  thread->waiting = false;
  thread->deadline = 0;
}

uint32_t Scheduler::Wake(const void* address, uint32_t count) {
  // Most locks that are given back have nobody waiting for them.
  if (WaitersNear(address) == 0) return 0;
  std::vector<Thread*> waiting;
  for (Thread* thread : there_) {
    if (thread->waiting && thread->address == address) waiting.push_back(thread);
  }
  uint32_t woken = 0;
  while (woken < count && !waiting.empty()) {
    const size_t chosen = waiting.size() == 1 ? 0 : random_.Below(waiting.size());
    StopWaiting(waiting[chosen]);
    waiting.erase(waiting.begin() + static_cast<ptrdiff_t>(chosen));
    ++woken;
  }
  return woken;
}

Scheduler::Thread* Scheduler::Add() {
  threads_.push_back(std::make_unique<Thread>());
  threads_.back()->number = static_cast<uint32_t>(threads_.size());
  there_.push_back(threads_.back().get());
  return there_.back();
}

void Scheduler::Enter(Thread* self) {
  AwaitTurn(self);
  current_scheduler = this;
}

void Scheduler::Leave(Thread* self) {
  self->left = true;
  std::erase(there_, self);
  Wake(self, UINT32_MAX);
  current_scheduler = nullptr;
  if (there_.empty()) return;
  leaving_tid_ = gettid();
  PassTo(Choose());
}

void Scheduler::AwaitEnd(Thread* thread) {
  while (!thread->left) Wait(thread, 0);
}

uint64_t Scheduler::Run(const SchedulerOptions& options, const std::function<void()>& program) {
  Scheduler scheduler(options);
  Thread* const first = scheduler.Add();
  struct Start {
    Scheduler* scheduler;
    Thread* thread;
    const std::function<void()>* program;
  } start{&scheduler, first, &program};
  const auto body = [](void* argument) -> void* {
    const Start& mine = *static_cast<Start*>(argument);
    mine.scheduler->Enter(mine.thread);
    (*mine.program)();
    mine.scheduler->Leave(mine.thread);
    return nullptr;
  };
  pthread_t thread;
  scheduler.running_ = first;
  first->turn.store(1, std::memory_order_release);
  if (pthread_create(&thread, nullptr, body, &start) != 0) std::abort();
  pthread_join(thread, nullptr);
  return scheduler.digest_;
}

}  // namespace rowan::simulation
