// SPDX-License-Identifier: GPL-2.0-only
// SyncTracker: which data files have page writes that are not synced yet. Several page writers and
// the checkpoint need "everything written so far is durable"; one sync serves all that wait for it.
//
// Invariant: EnsureSynced(space, ticket) returns Ok only after a successful sync of the file that
// began after NoteWrite returned `ticket`, i.e. after that write had completed.
// Thread safety: all members from any thread. A failure is the caller's to turn into a stop.
#pragma once

#include <atomic>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/page/sync_crew.h"
#include "io/space_files.h"

namespace rowan {

class SyncTracker {
 public:
  using Ticket = uint64_t;

  SyncTracker(SpaceFiles* files, SyncMethod method) : files_(files), method_(method) {}

  /// A page write to `space` has completed.
  Ticket NoteWrite(SpaceId space);
  /// Makes the write with `ticket`, and all before it, durable.
  Status EnsureSynced(SpaceId space, Ticket ticket);
  using Write = std::pair<SpaceId, Ticket>;
  /// The same for many: the files are synced concurrently.
  Status EnsureAllSynced(std::span<const Write> writes);
  /// Makes all writes noted before the call durable.
  Status SyncAll();

  void SetMethod(SyncMethod method) { method_.store(method, std::memory_order_relaxed); }
  [[nodiscard]] SyncMethod method() const { return method_.load(std::memory_order_relaxed); }

 private:
  struct Entry {
    Ticket written = 0;
    Ticket synced = 0;
    bool syncing = false;
  };

  /// Concurrent syncs besides the caller's own. More gain little: a device or a journal takes all
  /// waiting ones at once.
  static constexpr uint32_t kHelpers = 15;

  SpaceFiles* const files_;
  std::atomic<SyncMethod> method_;
  Mutex mutex_{LatchRank::kSyncTracker};
  Condition sync_done_;
  Ticket last_ticket_ ROWAN_GUARDED_BY(mutex_) = 0;
  /// Absent: all is synced.
  std::unordered_map<uint32_t, Entry> unsynced_ ROWAN_GUARDED_BY(mutex_);
  Status failure_ ROWAN_GUARDED_BY(mutex_);  // first failed sync, for good
  SyncCrew crew_{kHelpers};                  // destroyed first
};

}  // namespace rowan
