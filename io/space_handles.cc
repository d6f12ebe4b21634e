// SPDX-License-Identifier: GPL-2.0-only
// Known spaces live in a hash table cut into shards, each under a shared_mutex: page I/O holds it
// shared just long enough to copy the file's shared_ptr. A space in no shard is dead or was never
// opened, which is the same to every caller. Files are opened, synced and closed without the mutex.
#include "io/space_handles.h"

#include <algorithm>
#include <cerrno>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/placed_file.h"
#include "io/resource_shortage.h"

namespace rowan {
namespace {

/// Handles examined per shard: where most cannot be closed, examining them all for every file
/// opened would cost more than the handles do.
constexpr size_t kStepsMax = 64;
/// Share of the open handles that is closed when descriptors are short: enough for other threads
/// too.
constexpr uint32_t kShortageShare = 8;

}  // namespace

std::string SpaceFileName(SpaceId space) {
  return Format("space_{}{}", space.value(),
                IsTemporary(space) ? kTemporarySuffix : std::string_view(".rws"));
}

SpaceHandles::SpaceHandles(FileSystem* file_system, Options options)
    : file_system_(file_system), options_(std::move(options)) {}

void SpaceHandles::NoteDirectRefused(const std::string& path) {
  const Result<std::string> target = file_system_->ReadLink(path);
  const bool elsewhere =
      FolderOf(path) != options_.folder || (target.ok() && !target.value().empty());
  std::atomic<bool>* const noted = elsewhere ? &direct_refused_elsewhere_ : &direct_refused_;
  if (noted->exchange(true, std::memory_order_relaxed)) return;
  LogInfo("The file system of '{}' refuses direct I/O; its page cache is used.", path);
}

Result<std::shared_ptr<File>> SpaceHandles::OpenOnce(const std::string& path, bool create) {
  FileOptions open_options{.create = create, .exclusive = create};
  open_options.direct = options_.direct && !direct_refused_.load(std::memory_order_relaxed);
  open_options.atomic = atomic_.load(std::memory_order_relaxed);
  Result<std::unique_ptr<File>> opened = file_system_->Open(path, open_options);
  if (!opened.ok() && open_options.direct && opened.status().Is(Code::kIoError) &&
      opened.status().detail() == EINVAL) {
    NoteDirectRefused(path);
    // The refused attempt may have created the file already.
    open_options.direct = open_options.exclusive = false;
    opened = file_system_->Open(path, open_options);
  }
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<File>(std::move(opened).value());
}

Result<std::shared_ptr<File>> SpaceHandles::OpenFile(const std::string& path, bool create) {
  ShortageWait wait("Opening a tablespace");
  for (;;) {
    Result<std::shared_ptr<File>> opened = OpenOnce(path, create);
    if (opened.ok() || !IsResourceShortage(opened.status())) return opened;
    CloseShare();
    if (!wait.Again(static_cast<int>(opened.status().detail()))) return opened;
  }
}

void SpaceHandles::PutLocked(Shard* shard, SpaceId space, Entry* entry,
                             std::shared_ptr<File> file) {
  shard->open.emplace_back(space, entry);                    // first: it may not get its memory
  file->SetAtomic(atomic_.load(std::memory_order_relaxed));  // may have changed since the opening
  entry->file = std::move(file);
  entry->used.store(true, std::memory_order_relaxed);
  entry->position = shard->open.size() - 1;
  open_.fetch_add(1, std::memory_order_relaxed);
}

std::shared_ptr<File> SpaceHandles::TakeLocked(Shard* shard, Entry* entry) {
  if (entry->file == nullptr) return nullptr;
  std::swap(shard->open[entry->position], shard->open.back());
  shard->open[entry->position].second->position = entry->position;
  shard->open.pop_back();
  open_.fetch_sub(1, std::memory_order_relaxed);
  return std::exchange(entry->file, nullptr);
}

void SpaceHandles::Add(SpaceId space, std::shared_ptr<File> file) {
  Shard& shard = ShardOf(space);
  {
    const ExclusiveLock lock(&shard.mutex);
    std::shared_ptr<Mutex> growing = std::make_shared<Mutex>(LatchRank::kFileGrowth);
    Entry& entry = shard.spaces[space];
    if (entry.growing == nullptr) entry.growing = std::move(growing);
    if (file == nullptr || entry.file != nullptr) return;
    PutLocked(&shard, space, &entry, std::move(file));
  }
  CloseSome();
}

bool SpaceHandles::Remove(SpaceId space) {
  Shard& shard = ShardOf(space);
  std::shared_ptr<File> closing;  // closed after the lock is released
  ExclusiveLock lock(&shard.mutex);
  const auto found = shard.spaces.find(space);
  if (found == shard.spaces.end()) return false;
  closing = TakeLocked(&shard, &found->second);
  shard.spaces.erase(found);
  lock.Unlock();
  shard.sync_done.NotifyAll();  // a thread that waits for its sync finds it gone
  return true;
}

bool SpaceHandles::IsLive(SpaceId space) const {
  const Shard& shard = ShardOf(space);
  const SharedLock lock(&shard.mutex);
  return shard.spaces.contains(space);
}

Result<std::shared_ptr<File>> SpaceHandles::Acquire(SpaceId space, Use use) {
  if (IsTemporary(space)) use = Use::kRead;  // nothing to sync
  Shard& shard = ShardOf(space);
  {
    const SharedLock lock(&shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return DeadSpace();
    Entry& entry = found->second;
    if (entry.file != nullptr) {
      // Stored only if they change: readers share these lines.
      if (!entry.used.load(std::memory_order_relaxed)) {
        entry.used.store(true, std::memory_order_relaxed);
      }
      if (use == Use::kWrite && !entry.unsynced.load(std::memory_order_relaxed)) {
        entry.unsynced.store(true, std::memory_order_relaxed);
      }
      return entry.file;
    }
  }
  if (use == Use::kWrite && failed_.load(std::memory_order_acquire)) return Failure();
  Result<std::shared_ptr<File>> opened =
      OpenFile(options_.folder + "/" + SpaceFileName(space), false);
  if (!opened.ok()) {
    if (!IsLive(space)) return DeadSpace();
    // Not to be ignored as if the space had been dropped: pages may be about to be written to it.
    if (opened.status().Is(Code::kNotFound)) {
      return Status(Code::kIoError, "the file of a tablespace is gone", ENOENT);
    }
    return opened.status();
  }
  std::shared_ptr<File> file;
  {
    const ExclusiveLock lock(&shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return DeadSpace();
    Entry& entry = found->second;
    // Another thread may have been faster.
    if (entry.file == nullptr) PutLocked(&shard, space, &entry, std::move(opened).value());
    if (use == Use::kWrite) entry.unsynced.store(true, std::memory_order_relaxed);
    file = entry.file;
  }
  CloseSome();
  return file;
}

std::shared_ptr<Mutex> SpaceHandles::Growing(SpaceId space) {
  Shard& shard = ShardOf(space);
  const SharedLock lock(&shard.mutex);
  const auto found = shard.spaces.find(space);
  return found == shard.spaces.end() ? nullptr : found->second.growing;
}

void SpaceHandles::CloseSome() {
  for (const Victim victim : {Victim::kSynced, Victim::kAny}) {
    const size_t attempts = victim == Victim::kSynced ? kShards / 4 : kShards;
    for (size_t attempt = 0; attempt < attempts; ++attempt) {
      if (open_count() <= options_.open_max) return;
      const uint32_t shard = next_victim_shard_.fetch_add(1, std::memory_order_relaxed);
      (void)CloseOne(&shards_[shard % kShards], victim);
    }
  }
}

bool SpaceHandles::CloseShare() {
  const uint32_t wanted = std::max(1u, open_count() / kShortageShare);
  uint32_t closed = 0;
  for (const Victim victim : {Victim::kSynced, Victim::kAny}) {
    for (size_t attempt = 0; attempt < wanted + kShards && closed < wanted; ++attempt) {
      const uint32_t shard = next_victim_shard_.fetch_add(1, std::memory_order_relaxed);
      if (CloseOne(&shards_[shard % kShards], victim)) ++closed;
    }
    if (closed != 0) return true;
  }
  return false;
}

std::pair<SpaceId, SpaceHandles::Entry*> SpaceHandles::ChooseLocked(Shard* shard, Victim victim) {
  // Two rounds: the first clears the marks of use.
  const size_t steps = std::min(2 * shard->open.size(), kStepsMax);
  for (size_t step = 0; step < steps; ++step) {
    shard->hand = (shard->hand + 1) % shard->open.size();
    const auto& [space, entry] = shard->open[shard->hand];
    if (entry->used.exchange(false, std::memory_order_relaxed)) continue;
    // Copies are made under the mutex only, so a count of one stays one while it is held.
    if (entry->syncing || entry->file.use_count() != 1) continue;
    const bool unsynced = entry->unsynced.load(std::memory_order_relaxed);
    if (victim == Victim::kAny || !unsynced) return {space, entry};
  }
  return {};
}

bool SpaceHandles::CloseOne(Shard* shard, Victim victim) {
  std::shared_ptr<File> closing;  // closed without the lock
  const ExclusiveLock lock(&shard->mutex);
  const auto [space, entry] = ChooseLocked(shard, victim);
  if (entry == nullptr) return false;
  if (entry->unsynced.load(std::memory_order_relaxed)) {
    const Status status = SyncLocked(shard, space, entry, sync_method_.load());
    const auto found = shard->spaces.find(space);
    if (!status.ok() || found == shard->spaces.end()) return false;
    const bool idle = found->second.file != nullptr && found->second.file.use_count() == 1 &&
                      !found->second.syncing && !found->second.unsynced.load();
    if (!idle) return false;
    closing = TakeLocked(shard, &found->second);
  } else {
    closing = TakeLocked(shard, entry);
  }
  return true;
}

Status SpaceHandles::Failure() {
  const MutexLock lock(&failure_mutex_);
  return failure_;
}

Status SpaceHandles::SyncLocked(Shard* shard, SpaceId space, Entry* entry, SyncMethod method) {
  ROWAN_CHECK(!entry->syncing);
  std::shared_ptr<File> file = entry->file;
  // Exclusive: no thread can get a handle in between. If others hold one (count above ours and the
  // table's), they may still write, and the mark has to stay.
  if (file.use_count() == 2) entry->unsynced.store(false, std::memory_order_relaxed);
  entry->syncing = true;
  shard->mutex.UnlockExclusive();
  const Status status = file->Sync(method);
  file.reset();
  shard->mutex.LockExclusive();
  const auto found = shard->spaces.find(space);
  if (found != shard->spaces.end()) {
    found->second.syncing = false;
    if (!status.ok()) {
      found->second.unsynced.store(true, std::memory_order_relaxed);
      const MutexLock guard(&failure_mutex_);
      if (failure_.ok()) failure_ = status;
      failed_.store(true, std::memory_order_release);
    }
  }
  shard->sync_done.NotifyAll();
  return found == shard->spaces.end() ? Status::Ok() : status;
}

Status SpaceHandles::Sync(SpaceId space, SyncMethod method) {
  sync_method_.store(method, std::memory_order_relaxed);
  Shard& shard = ShardOf(space);
  ExclusiveLock lock(&shard.mutex);
  for (;;) {
    if (failed_.load(std::memory_order_acquire)) return Failure();
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return Status::Ok();
    Entry& entry = found->second;
    if (!entry.syncing) {
      // Without the mark everything is durable: the last sync cleared it, and no write was possible
      // since.
      if (!entry.unsynced.load(std::memory_order_relaxed)) return Status::Ok();
      const Status status = SyncLocked(&shard, space, &entry, method);
      lock.Unlock();
      CloseSome();  // this may be the one that had to stay open until now
      return status;
    }
    shard.sync_done.Wait(&shard.mutex);
  }
}

void SpaceHandles::SetAtomic(bool atomic) {
  atomic_.store(atomic, std::memory_order_relaxed);
  for (Shard& shard : shards_) {
    // Handles are put into a shard under its mutex: before this, or with the new setting.
    const ExclusiveLock lock(&shard.mutex);
    for (const auto& [space, entry] : shard.open) entry->file->SetAtomic(atomic);
  }
}

}  // namespace rowan
