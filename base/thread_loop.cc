// SPDX-License-Identifier: GPL-2.0-only
#include "base/thread_loop.h"

#include <pthread.h>

#include <new>
#include <utility>

#include "base/assertions.h"
#include "base/instruments.h"
#include "base/start_thread.h"

namespace rowan {

ThreadLoop::ThreadLoop(std::string name, std::chrono::milliseconds tick, Work work)
    : name_(std::move(name)),
      kernel_name_(("rowan-" + name_).substr(0, 15)),
      tick_(tick),
      work_(std::move(work)) {}

ThreadLoop::~ThreadLoop() { Stop(); }

Status ThreadLoop::Start() {
  const MutexLock lifecycle(&lifecycle_mutex_);
  ROWAN_CHECK(!thread_.joinable());
  stopping_.store(false, std::memory_order_release);
  Result<std::thread> thread = StartThread([this] { Run(); });
  if (thread.ok()) thread_ = std::move(thread).value();
  return thread.status();
}

void ThreadLoop::Wake() {
  // Already requested and not yet consumed: the loop will run its work after this call anyway.
  if (wake_requested_.exchange(true, std::memory_order_acq_rel)) return;
  // The empty section keeps the notification from falling between the sleeper's test and its wait.
  { const MutexLock lock(&mutex_); }
  wake_.NotifyOne();
}

void ThreadLoop::Stop() {
  const MutexLock lifecycle(&lifecycle_mutex_);
  if (!thread_.joinable()) return;
  ROWAN_CHECK(thread_.get_id() != std::this_thread::get_id());
  {
    const MutexLock lock(&mutex_);
    stopping_.store(true, std::memory_order_release);
  }
  wake_.NotifyAll();
  thread_.join();
}

void ThreadLoop::Run() {
  pthread_setname_np(pthread_self(), kernel_name_.c_str());
  const Instruments* instruments = CurrentInstruments();
  if (instruments != nullptr) instruments->thread_begins(name_.c_str());
  RunWork();
  if (instruments != nullptr) instruments->thread_ends();
}

ThreadLoop::Next ThreadLoop::WorkOnce() {
  try {
    return work_();
  } catch (const std::bad_alloc&) {
    return Next::kWait;  // with the next tick again
  }
}

void ThreadLoop::RunWork() {
  while (!stopping()) {
    // Taken before the work: a request that arrives during it causes another round.
    wake_requested_.exchange(false, std::memory_order_acq_rel);
    if (WorkOnce() == Next::kAgain) continue;
    const auto end = std::chrono::steady_clock::now() + tick_;
    const MutexLock lock(&mutex_);
    while (!stopping() && !wake_requested_.load(std::memory_order_acquire)) {
      if (!wake_.WaitUntil(&mutex_, end)) break;
    }
  }
}

}  // namespace rowan
