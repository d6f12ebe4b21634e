// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/page/sync_crew.h"

#include <algorithm>
#include <string>

#include "base/logging.h"

namespace rowan {
namespace {

/// Helpers do nothing on their own.
constexpr std::chrono::milliseconds kSyncTick = std::chrono::hours(1);

}  // namespace

void SyncCrew::Work(Job* job) {
  while (!job->failed.load(std::memory_order_relaxed)) {
    const size_t number = job->next.fetch_add(1, std::memory_order_relaxed);
    if (number >= job->count) return;
    const Status status = job->unit(number);
    if (status.ok()) continue;
    job->failed.store(true, std::memory_order_relaxed);
    const MutexLock guard(&mutex_);
    if (job->status.ok()) job->status = status;
  }
}

ThreadLoop::Next SyncCrew::Help() {
  MutexLock guard(&mutex_);
  if (jobs_.empty()) return ThreadLoop::Next::kWait;
  Job* job = jobs_.front();
  ++job->helpers;
  guard.Unlock();
  Work(job);
  guard.Lock();
  --job->helpers;
  // Nothing of it is left to take. Its owner will remove it, unless another thread already has.
  std::erase(jobs_, job);
  helped_.NotifyAll();
  return ThreadLoop::Next::kAgain;
}

void SyncCrew::WakeHelpers(size_t wanted) {
  const MutexLock guard(&helpers_mutex_);
  wanted = std::min<size_t>(wanted, helpers_max_);
  while (helpers_.size() < wanted) {
    auto helper = std::make_unique<ThreadLoop>("sync-" + std::to_string(helpers_.size()), kSyncTick,
                                               [this] { return Help(); });
    const Status started = helper->Start();
    if (!started.ok()) {
      LogWarning("Files are synced by {} threads at a time: {}.", helpers_.size() + 1,
                 started.message());
      break;
    }
    helpers_.push_back(std::move(helper));
  }
  for (size_t i = 0; i < std::min(wanted, helpers_.size()); ++i) helpers_[i]->Wake();
}

Status SyncCrew::Run(size_t count, const Unit& unit) {
  Job job{.unit = unit, .count = count};
  if (count > 1) {
    {
      const MutexLock guard(&mutex_);
      jobs_.push_back(&job);
    }
    WakeHelpers(count - 1);
  }
  Work(&job);
  const MutexLock guard(&mutex_);
  std::erase(jobs_, &job);
  while (job.helpers != 0) helped_.Wait(&mutex_);
  return job.status;
}

}  // namespace rowan
