// SPDX-License-Identifier: GPL-2.0-only
// SpaceHandles: the live spaces and the open handles of their files, up to a limit. Above it
// handles are closed, roughly the least recently used first: those with nothing to sync at once,
// written ones after a sync. Only handles in use exceed the limit.
//
// Invariants:
//   1. a handle is closed only when every write through it is durable, or none was made: no error
//      of the kernel's write-back goes unseen. Files of temporary spaces are never synced;
//   2. a file has at most one sync in progress, so no failure is reported to only one of two
//      waiters;
//   3. after a failed sync all later ones fail, here and for good.
// Thread safety: all members, from any thread; handles that are open are found under a shared lock.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// For the files of temporary spaces.
inline constexpr std::string_view kTemporarySuffix = ".temporary";
/// `space_<id>.rws`; of a temporary space `space_<id>.temporary`.
std::string SpaceFileName(SpaceId space);

/// For a space that was dropped or never existed.
inline Status DeadSpace() { return Status(Code::kNotFound, "the tablespace does not exist"); }

class SpaceHandles {
 public:
  struct Options {
    std::string folder;
    uint32_t open_max = 0;
    bool direct = true;
  };
  SpaceHandles(FileSystem* file_system, Options options);

  /// Opens a file as the options say; without O_DIRECT where the file system refuses it. When
  /// descriptors are short, closes some of its own, then waits.
  Result<std::shared_ptr<File>> OpenFile(const std::string& path, bool create);
  /// Makes a space live; `file` may be null: it is opened on demand.
  void Add(SpaceId space, std::shared_ptr<File> file);
  /// Makes a space no longer live. False if it was not.
  bool Remove(SpaceId space);
  [[nodiscard]] bool IsLive(SpaceId space) const;

  enum class Use { kRead, kWrite };
  /// kNotFound: not live. To write: the handle must be synced before it is closed, unless the space
  /// is temporary.
  Result<std::shared_ptr<File>> Acquire(SpaceId space, Use use);
  /// Serialises changes of the file's size; null if the space is not live.
  std::shared_ptr<Mutex> Growing(SpaceId space);
  /// Makes all earlier writes durable; nothing to do if closing the handle did so.
  Status Sync(SpaceId space, SyncMethod method);
  void SetAtomic(bool atomic);
  [[nodiscard]] bool atomic() const { return atomic_.load(std::memory_order_relaxed); }

  [[nodiscard]] uint32_t open_count() const { return open_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint32_t open_max() const { return options_.open_max; }

 private:
  struct Entry {
    // Guarded by the mutex of the shard.
    std::shared_ptr<File> file;  // null: not open
    size_t position = 0;         // in Shard::open
    bool syncing = false;

    std::shared_ptr<Mutex> growing;     // constant
    std::atomic<bool> used{false};      // since the clock hand last passed
    std::atomic<bool> unsynced{false};  // written, or may still be, since the last sync
  };
  static constexpr size_t kShards = 64;
  struct alignas(64) Shard {
    mutable SharedMutex mutex{LatchRank::kSpaceHandles};
    SharedCondition sync_done;
    std::unordered_map<SpaceId, Entry> spaces ROWAN_GUARDED_BY(mutex);
    // Entries with a handle, for the clock hand.
    std::vector<std::pair<SpaceId, Entry*>> open ROWAN_GUARDED_BY(mutex);
    size_t hand ROWAN_GUARDED_BY(mutex) = 0;
  };
  enum class Victim { kSynced, kAny };

  Shard& ShardOf(SpaceId space) { return shards_[space.value() % kShards]; }
  [[nodiscard]] const Shard& ShardOf(SpaceId space) const {
    return shards_[space.value() % kShards];
  }
  /// Logs the refusal once. Files that lie elsewhere (io/placed_file.h) say nothing about the
  /// others.
  void NoteDirectRefused(const std::string& path);
  Result<std::shared_ptr<File>> OpenOnce(const std::string& path, bool create);
  void PutLocked(Shard* shard, SpaceId space, Entry* entry, std::shared_ptr<File> file)
      ROWAN_REQUIRES(shard->mutex);
  /// Takes the handle out of the table. The caller closes it without the lock.
  std::shared_ptr<File> TakeLocked(Shard* shard, Entry* entry) ROWAN_REQUIRES(shard->mutex);
  /// Closes handles that are not in use, down to the limit.
  void CloseSome();
  bool CloseOne(Shard* shard, Victim victim);
  static std::pair<SpaceId, Entry*> ChooseLocked(Shard* shard, Victim victim)
      ROWAN_REQUIRES(shard->mutex);
  /// Closes a share of the handles, whatever the limit says. False if none could be closed.
  bool CloseShare();
  /// Syncs a handle; `entry` is marked as clean first if no other thread can write. Releases the
  /// mutex during the sync; the entry may be gone at return.
  Status SyncLocked(Shard* shard, SpaceId space, Entry* entry, SyncMethod method)
      ROWAN_REQUIRES(shard->mutex);
  Status Failure();

  FileSystem* const file_system_;
  const Options options_;
  std::array<Shard, kShards> shards_;
  std::atomic<uint32_t> open_{0};
  std::atomic<uint32_t> next_victim_shard_{0};
  std::atomic<bool> direct_refused_{false};
  std::atomic<bool> direct_refused_elsewhere_{false};  // logged; each such file is tried again
  std::atomic<bool> atomic_{false};  // stored before the handles are changed, shard by shard
  /// As in the last Sync: closing handles syncs the same way.
  std::atomic<SyncMethod> sync_method_{SyncMethod::kFdatasync};
  std::atomic<bool> failed_{false};
  Mutex failure_mutex_{LatchRank::kSyncFailure};
  Status failure_ ROWAN_GUARDED_BY(failure_mutex_);  // first failed sync
};

}  // namespace rowan
