// SPDX-License-Identifier: GPL-2.0-only
// Known spaces live in a hash table cut into shards, each under a shared_mutex: page I/O takes it
// shared just long enough to copy the file's shared_ptr. A space that is in no shard is dead or was
// never opened, which is the same to every caller.
#include "io/space_files.h"

#include <array>
#include <atomic>
#include <cerrno>
#include <charconv>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".rws";
constexpr std::string_view kTrashSuffix = ".rws.trash";
constexpr size_t kShards = 64;
/// Trash is cut down by this much per step: freeing many gigabytes at once stalls file systems.
constexpr uint64_t kTrashStepBytes = uint64_t{256} << 20;

/// The id in `space_<id><suffix>`, or nullopt if the name is not exactly of that form.
std::optional<SpaceId> ParseName(std::string_view name, std::string_view suffix) {
  if (!name.starts_with(kPrefix) || !name.ends_with(suffix)) return std::nullopt;
  if (name.size() <= kPrefix.size() + suffix.size()) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(suffix.size());
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  if (name.size() > 1 && name[0] == '0') return std::nullopt;
  return SpaceId(id);
}

Status DeadSpace() { return Status(Code::kNotFound, "the tablespace does not exist"); }

}  // namespace

struct SpaceFiles::Impl {
  /// A known space. `file` is null while its handle is closed.
  struct Entry {
    std::shared_ptr<File> file;           // guarded by the shard's mutex
    std::atomic<uint64_t> last_use{0};    // value of `clock` at the last use
    std::atomic<bool> unsynced{false};    // written since the last sync, see Sync
    std::shared_ptr<std::mutex> growing;  // serialises Extend
  };
  struct alignas(64) Shard {
    mutable std::shared_mutex mutex;
    std::unordered_map<SpaceId, Entry> spaces;  // guarded by mutex
  };

  FileSystem* const file_system;
  const Options& options;
  std::array<Shard, kShards> shards;
  std::atomic<uint64_t> clock{0};
  std::atomic<uint32_t> open_files{0};
  std::atomic<uint32_t> next_victim_shard{0};
  std::atomic<bool> direct_refused{false};
  std::atomic<bool> atomic;  // stored before the handles are changed, shard by shard
  std::mutex trash_mutex;
  bool trash_scanned = false;      // guarded by trash_mutex
  std::vector<std::string> trash;  // file names, guarded by trash_mutex

  Impl(FileSystem* files, const Options& space_options)
      : file_system(files), options(space_options), atomic(space_options.atomic) {}

  Shard& ShardOf(SpaceId space) { return shards[space.value() % kShards]; }
  std::string PathOf(std::string_view name) const {
    return options.folder + "/" + std::string(name);
  }

  Result<std::shared_ptr<File>> OpenFile(const std::string& path, bool create);
  Result<std::shared_ptr<File>> Acquire(SpaceId space, Use use);
  void Insert(SpaceId space, std::shared_ptr<File> file);
  void CloseSomeHandles();
  void CloseOldestIn(Shard& shard);
  Status FillNewFile(const std::string& path, uint64_t size_bytes);
  Result<bool> RemoveTrashFile(const std::string& path);
};

Result<std::shared_ptr<File>> SpaceFiles::Impl::OpenFile(const std::string& path, bool create) {
  FileOptions open_options{.create = create, .exclusive = create};
  open_options.direct = options.direct && !direct_refused.load(std::memory_order_relaxed);
  open_options.atomic = atomic.load(std::memory_order_relaxed);
  Result<std::unique_ptr<File>> opened = file_system->Open(path, open_options);
  if (!opened.ok() && open_options.direct && opened.status().Is(Code::kIoError) &&
      opened.status().detail() == EINVAL) {
    LogInfo("The file system of '{}' refuses direct I/O; its page cache is used.", path);
    direct_refused.store(true, std::memory_order_relaxed);
    // The refused attempt may have created the file already.
    open_options.direct = open_options.exclusive = false;
    opened = file_system->Open(path, open_options);
  }
  if (!opened.ok()) return opened.status();
  return std::shared_ptr<File>(std::move(opened).value());
}

void SpaceFiles::Impl::Insert(SpaceId space, std::shared_ptr<File> file) {
  Shard& shard = ShardOf(space);
  {
    std::unique_lock lock(shard.mutex);
    Entry& entry = shard.spaces[space];
    file->SetAtomic(atomic.load(std::memory_order_relaxed));  // may have changed since the opening
    if (entry.file == nullptr) open_files.fetch_add(1, std::memory_order_relaxed);
    entry.file = std::move(file);
    entry.last_use.store(clock.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    if (entry.growing == nullptr) entry.growing = std::make_shared<std::mutex>();
  }
  CloseSomeHandles();
}

Result<std::shared_ptr<File>> SpaceFiles::Impl::Acquire(SpaceId space, Use use) {
  Shard& shard = ShardOf(space);
  {
    std::shared_lock lock(shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return DeadSpace();
    Entry& entry = found->second;
    if (entry.file != nullptr) {
      // Plain stores on purpose: uses are only compared roughly, and readers share these lines.
      const uint64_t now = clock.load(std::memory_order_relaxed);
      if (entry.last_use.load(std::memory_order_relaxed) != now) {
        entry.last_use.store(now, std::memory_order_relaxed);
      }
      if (use == Use::kWrite && !entry.unsynced.load(std::memory_order_relaxed)) {
        entry.unsynced.store(true, std::memory_order_relaxed);
      }
      return entry.file;
    }
  }
  std::shared_ptr<File> file;
  {
    std::unique_lock lock(shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return DeadSpace();
    Entry& entry = found->second;
    if (entry.file == nullptr) {
      Result<std::shared_ptr<File>> opened =
          OpenFile(PathOf(Format("{}{}{}", kPrefix, space.value(), kSuffix)), false);
      if (!opened.ok()) return opened.status();
      entry.file = std::move(opened).value();
      open_files.fetch_add(1, std::memory_order_relaxed);
    }
    entry.last_use.store(clock.fetch_add(1, std::memory_order_relaxed), std::memory_order_relaxed);
    if (use == Use::kWrite) entry.unsynced.store(true, std::memory_order_relaxed);
    file = entry.file;
  }
  CloseSomeHandles();
  return file;
}

void SpaceFiles::Impl::CloseSomeHandles() {
  // A bounded part of the shards per call: where most handles cannot be closed, looking at all of
  // them for every file opened would cost more than the handles do.
  for (size_t attempt = 0; attempt < kShards / 4; ++attempt) {
    if (open_files.load(std::memory_order_relaxed) <= options.open_files_max) return;
    const uint32_t victim = next_victim_shard.fetch_add(1, std::memory_order_relaxed);
    CloseOldestIn(shards[victim % kShards]);
  }
}

void SpaceFiles::Impl::CloseOldestIn(Shard& shard) {
  std::shared_ptr<File> closing;  // closed outside the lock
  std::unique_lock lock(shard.mutex);
  Entry* oldest = nullptr;
  for (auto& [space, entry] : shard.spaces) {
    // Copies are made under the mutex only, so a count of one stays one while it is held.
    const bool idle = entry.file != nullptr && entry.file.use_count() == 1 &&
                      !entry.unsynced.load(std::memory_order_relaxed);
    if (idle && (oldest == nullptr || entry.last_use.load(std::memory_order_relaxed) <
                                          oldest->last_use.load(std::memory_order_relaxed))) {
      oldest = &entry;
    }
  }
  if (oldest == nullptr) return;
  closing = std::move(oldest->file);
  oldest->file = nullptr;
  open_files.fetch_sub(1, std::memory_order_relaxed);
  lock.unlock();
}

SpaceFiles::SpaceFiles(FileSystem* file_system, Options options)
    : options_(std::move(options)), impl_(std::make_unique<Impl>(file_system, options_)) {
  ROWAN_CHECK(file_system != nullptr && options_.page_size_bytes > 0);
}

SpaceFiles::~SpaceFiles() = default;

std::string SpaceFiles::PathOf(SpaceId space) const {
  return impl_->PathOf(Format("{}{}{}", kPrefix, space.value(), kSuffix));
}

Status SpaceFiles::Impl::FillNewFile(const std::string& path, uint64_t size_bytes) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {});
  if (!file.ok()) return file.status();
  Status status = size_bytes == 0 ? Status() : file.value()->Allocate(0, size_bytes);
  if (status.ok()) status = file.value()->Sync(SyncMethod::kFsync);
  if (status.ok()) status = file_system->SyncDirectory(options.folder);
  return status;
}

Status SpaceFiles::Create(SpaceId space, uint32_t pages) {
  const std::string path = PathOf(space);
  if (IsLive(space)) return Status(Code::kInvalidArgument, "the tablespace exists already");
  Result<std::shared_ptr<File>> file = impl_->OpenFile(path, true);
  if (!file.ok()) return file.status();
  const Status status = impl_->FillNewFile(path, uint64_t{pages} * options_.page_size_bytes);
  if (!status.ok()) {
    impl_->file_system->Remove(path).Ignore();  // the first failure is the one to report
    return status;
  }
  impl_->Insert(space, std::move(file).value());
  return Status::Ok();
}

Status SpaceFiles::Open(SpaceId space) {
  if (IsLive(space)) return Status::Ok();
  Result<std::shared_ptr<File>> file = impl_->OpenFile(PathOf(space), false);
  if (!file.ok()) return file.status();
  impl_->Insert(space, std::move(file).value());
  return Status::Ok();
}

void SpaceFiles::SetAtomic(bool atomic) {
  impl_->atomic.store(atomic, std::memory_order_relaxed);
  for (Impl::Shard& shard : impl_->shards) {
    // Handles are put into a shard under its mutex: before this, or with the new setting.
    std::unique_lock lock(shard.mutex);
    for (auto& [space, entry] : shard.spaces) {
      if (entry.file != nullptr) entry.file->SetAtomic(atomic);
    }
  }
}

bool SpaceFiles::IsLive(SpaceId space) const {
  const Impl::Shard& shard = impl_->ShardOf(space);
  std::shared_lock lock(shard.mutex);
  return shard.spaces.contains(space);
}

std::vector<SpaceId> SpaceFiles::ListLive() const {
  std::vector<SpaceId> spaces;
  for (const Impl::Shard& shard : impl_->shards) {
    std::shared_lock lock(shard.mutex);
    for (const auto& [space, entry] : shard.spaces) spaces.push_back(space);
  }
  return spaces;
}

uint32_t SpaceFiles::OpenHandles() const {
  return impl_->open_files.load(std::memory_order_relaxed);
}

Result<std::vector<SpaceId>> SpaceFiles::ListFiles() {
  Result<std::vector<std::string>> names = impl_->file_system->List(options_.folder);
  if (!names.ok()) return names.status();
  std::vector<SpaceId> spaces;
  for (const std::string& name : names.value()) {
    if (const std::optional<SpaceId> space = ParseName(name, kSuffix)) spaces.push_back(*space);
  }
  return spaces;
}

Status SpaceFiles::Drop(SpaceId space) {
  const std::string trash_name =
      Format("{}{}{}", kPrefix, space.value(), kTrashSuffix);
  std::shared_ptr<File> closing;  // closed after the lock is released
  {
    Impl::Shard& shard = impl_->ShardOf(space);
    std::unique_lock lock(shard.mutex);
    const auto found = shard.spaces.find(space);
    const bool live = found != shard.spaces.end();
    if (live) {
      closing = std::move(found->second.file);
      if (closing != nullptr) impl_->open_files.fetch_sub(1, std::memory_order_relaxed);
      shard.spaces.erase(found);
    }
    const Status renamed =
        impl_->file_system->Rename(PathOf(space), impl_->PathOf(trash_name));
    if (!renamed.ok()) return renamed;
  }
  {
    std::lock_guard lock(impl_->trash_mutex);
    impl_->trash.push_back(trash_name);
  }
  return impl_->file_system->SyncDirectory(options_.folder);
}

Result<bool> SpaceFiles::RemoveTrash() {
  std::unique_lock lock(impl_->trash_mutex);
  if (!impl_->trash_scanned) {
    Result<std::vector<std::string>> names = impl_->file_system->List(options_.folder);
    if (!names.ok()) return names.status();
    impl_->trash.clear();
    for (std::string& name : names.value()) {
      if (ParseName(name, kTrashSuffix)) impl_->trash.push_back(std::move(name));
    }
    impl_->trash_scanned = true;
  }
  if (impl_->trash.empty()) return true;
  const std::string name = std::move(impl_->trash.back());
  impl_->trash.pop_back();
  lock.unlock();  // Drop does not wait for the file system's work
  const Result<bool> gone = impl_->RemoveTrashFile(impl_->PathOf(name));
  lock.lock();
  if (!gone.ok() || !gone.value()) impl_->trash.push_back(name);
  if (!gone.ok()) return gone;
  return impl_->trash.empty();
}

Result<bool> SpaceFiles::Impl::RemoveTrashFile(const std::string& path) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {});
  if (file.status().Is(Code::kNotFound)) return true;
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  if (size.value() > kTrashStepBytes) {
    const Status status = file.value()->Truncate(size.value() - kTrashStepBytes);
    if (!status.ok()) return status;
    return false;
  }
  const Status removed = file_system->Remove(path);
  if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  return true;
}

Status SpaceFiles::ReadPage(PageId id, MutableBytes buffer) {
  ROWAN_DCHECK(buffer.size() == options_.page_size_bytes);
  const Result<std::shared_ptr<File>> file = impl_->Acquire(id.space, Use::kRead);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * options_.page_size_bytes;
  const Status status = file.value()->Read(offset, buffer);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Status SpaceFiles::WritePage(PageId id, Bytes page) {
  ROWAN_DCHECK(page.size() == options_.page_size_bytes);
  const Result<std::shared_ptr<File>> file = impl_->Acquire(id.space, Use::kWrite);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * options_.page_size_bytes;
  const Status status = file.value()->Write(offset, page);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Result<SpaceFiles::Location> SpaceFiles::Locate(PageId id, Use use) {
  Result<std::shared_ptr<File>> file = impl_->Acquire(id.space, use);
  if (!file.ok()) return file.status();
  return Location{std::move(file).value(), uint64_t{id.page.value()} * options_.page_size_bytes};
}

Result<uint32_t> SpaceFiles::PageCount(SpaceId space) {
  const Result<std::shared_ptr<File>> file = impl_->Acquire(space, Use::kRead);
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  return static_cast<uint32_t>(size.value() / options_.page_size_bytes);
}

Status SpaceFiles::Extend(SpaceId space, uint32_t pages) {
  const Result<std::shared_ptr<File>> file = impl_->Acquire(space, Use::kWrite);
  if (!file.ok()) return file.status();
  std::shared_ptr<std::mutex> growing;
  {
    Impl::Shard& shard = impl_->ShardOf(space);
    std::shared_lock lock(shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return DeadSpace();
    growing = found->second.growing;
  }
  std::lock_guard lock(*growing);
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  // A partial page at the end can only be the remains of an extension that a crash cut off.
  const uint64_t old_bytes = size.value() / options_.page_size_bytes * options_.page_size_bytes;
  const uint64_t new_bytes = uint64_t{pages} * options_.page_size_bytes;
  if (new_bytes <= old_bytes) return Status::Ok();
  if (size.value() != old_bytes) {
    const Status status = file.value()->Truncate(old_bytes);
    if (!status.ok()) return status;
  }
  return file.value()->Allocate(old_bytes, new_bytes - old_bytes);
}

Status SpaceFiles::Sync(SpaceId space, SyncMethod method) {
  Result<std::shared_ptr<File>> file = impl_->Acquire(space, Use::kRead);
  if (file.status().Is(Code::kNotFound)) return Status::Ok();
  if (!file.ok()) return file.status();
  Impl::Shard& shard = impl_->ShardOf(space);
  {
    // Exclusive: nobody can get a handle in between. Holders of one (count above ours and the
    // table's) may still write, then the mark has to stay.
    std::unique_lock lock(shard.mutex);
    const auto found = shard.spaces.find(space);
    if (found == shard.spaces.end()) return Status::Ok();
    if (found->second.file.use_count() == 2) found->second.unsynced.store(false);
  }
  const Status status = file.value()->Sync(method);
  file.value().reset();
  impl_->CloseSomeHandles();  // this may be the one that had to stay open until now
  if (status.ok()) return status;
  return IsLive(space) ? status : Status::Ok();
}

}  // namespace rowan
