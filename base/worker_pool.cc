// SPDX-License-Identifier: GPL-2.0-only
#include "base/worker_pool.h"

#include <algorithm>
#include <chrono>
#include <utility>

#include "base/assertions.h"
#include "base/futex.h"
#include "base/out_of_memory.h"

namespace rowan {
namespace {

/// Who has a single helper gives it to another owner after so many of its steps.
constexpr uint32_t kStepsOfOneHelper = 16;
/// A thread without work is woken for the next one; the tick is for nothing.
constexpr std::chrono::hours kTick{24};

}  // namespace

WorkerPool::WorkerPool(std::string name, uint32_t threads_max) : threads_max_(threads_max) {
  for (size_t i = 0; i < slots_.size(); ++i) {
    Slot* const slot = &slots_[i];
    slot->thread = std::make_unique<ThreadLoop>(name + std::to_string(i), kTick,
                                                [this, slot] { return Work(slot); });
  }
}

WorkerPool::~WorkerPool() {
  for (Slot& slot : slots_) {
    slot.thread->Stop();
    ROWAN_CHECK(slot.job.load() == nullptr);
  }
}

Status WorkerPool::Run(uint32_t helpers_max, const Step& step) {
  Job job(step);
  do {
    Engage(&job, helpers_max);
  } while (DoStep(&job));
  NoteWaiting(&job, false);
  for (uint32_t left = job.helpers.load(); left != 0; left = job.helpers.load()) {
    FutexWait(&job.helpers, left);
  }
  return job.failure;
}

void WorkerPool::Engage(Job* job, uint32_t helpers_max) {
  const uint32_t end = std::min(threads_max_.load(std::memory_order_relaxed), kThreadsMax);
  for (uint32_t i = 0; i < end && job->helpers.load() < helpers_max; ++i) {
    if (slots_[i].job.load(std::memory_order_relaxed) != nullptr) continue;
    if (!Lend(&slots_[i], job)) break;
  }
  NoteWaiting(job, helpers_max != 0 && job->helpers.load() == 0);
}

/// False: the system refuses a thread.
bool WorkerPool::Lend(Slot* slot, Job* job) {
  ++job->helpers;  // first: the thread may have ended its part at once
  Job* expected = nullptr;
  if (!slot->job.compare_exchange_strong(expected, job)) {
    --job->helpers;
    return true;
  }
  if (slot->is_started) {
    slot->thread->Wake();
    return true;
  }
  slot->is_started = true;
  if (slot->thread->Start().ok()) return true;
  slot->is_started = false;
  slot->job.store(nullptr);
  --job->helpers;
  return false;
}

void WorkerPool::NoteWaiting(Job* job, bool waits) {
  if (std::exchange(job->is_waiting, waits) == waits) return;
  if (waits) {
    ++waiting_;
  } else {
    --waiting_;
  }
}

ThreadLoop::Next WorkerPool::Work(Slot* slot) {
  Job* const job = slot->job.load();
  if (job == nullptr) return ThreadLoop::Next::kWait;
  Help(job);
  slot->job.store(nullptr);
  // From here on the job may be gone: only the address of the word is used.
  std::atomic<uint32_t>* const helpers = &job->helpers;
  if (helpers->fetch_sub(1) == 1) FutexWakeAll(helpers);
  return ThreadLoop::Next::kAgain;
}

void WorkerPool::Help(Job* job) {
  for (uint32_t steps = 0; DoStep(job);) {
    ++steps_of_helpers_;
    ++steps;
    const bool is_alone = job->helpers.load(std::memory_order_relaxed) == 1;
    if (waiting_.load(std::memory_order_relaxed) == 0) continue;
    if (!is_alone || steps >= kStepsOfOneHelper) return;
  }
}

/// Whether there may be another one.
bool WorkerPool::DoStep(Job* job) {
  if (job->failed.load()) return false;
  const Status status = OrOutOfMemory([job] { return job->step(); });
  if (status.ok()) return true;
  if (!status.Is(Code::kEndOfRange) && !job->failed.exchange(true)) job->failure = status;
  return false;
}

}  // namespace rowan
