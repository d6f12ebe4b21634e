// SPDX-License-Identifier: GPL-2.0-only
// Sharing of data file syncs between page writers and checkpoints. See sync_tracker.h.
#include "buffer/page/sync_tracker.h"

#include <utility>
#include <vector>

#include "base/counters.h"

namespace rowan {

SyncTracker::Ticket SyncTracker::NoteWrite(SpaceId space) {
  const MutexLock guard(&mutex_);
  const auto [found, fresh] = unsynced_.try_emplace(space.value());
  // Not in the table: all tickets so far are synced.
  if (fresh) found->second.synced = last_ticket_;
  found->second.written = ++last_ticket_;
  return last_ticket_;
}

Status SyncTracker::EnsureSynced(SpaceId space, Ticket ticket) {
  MutexLock lock(&mutex_);
  for (;;) {
    // The state after a failed sync is unknown; another one could wrongly report success.
    if (!failure_.ok()) return failure_;
    const auto found = unsynced_.find(space.value());
    if (found == unsynced_.end() || found->second.synced >= ticket) return Status::Ok();
    if (!found->second.syncing) break;
    sync_done_.Wait(&mutex_);
  }
  // The entry stays while `syncing` is set: only the thread that syncs removes it.
  Entry& entry = unsynced_[space.value()];
  entry.syncing = true;
  const Ticket covered = entry.written;
  lock.Unlock();
  AddCounter(Counter::kDataSyncs);
  const Status status = files_->Sync(space, method());
  lock.Lock();
  entry.syncing = false;
  if (status.ok()) {
    entry.synced = covered;
    if (entry.written == covered) unsynced_.erase(space.value());
  } else {
    failure_ = status;
  }
  sync_done_.NotifyAll();
  return status;
}

Status SyncTracker::EnsureAllSynced(std::span<const Write> writes) {
  return crew_.Run(writes.size(), [&](size_t number) {
    return EnsureSynced(writes[number].first, writes[number].second);
  });
}

Status SyncTracker::SyncAll() {
  std::vector<Write> wanted;
  {
    const MutexLock guard(&mutex_);
    wanted.reserve(unsynced_.size());
    for (const auto& [space, entry] : unsynced_) {
      wanted.emplace_back(SpaceId(space), entry.written);
    }
  }
  return EnsureAllSynced(wanted);
}

}  // namespace rowan
