// SPDX-License-Identifier: GPL-2.0-only
// Names, sizes and the life of tablespace files. Their handles are in space_handles.cc.
#include "io/space_files.h"

#include <algorithm>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/mutex.h"
#include "base/page_size.h"
#include "io/space_handles.h"
#include "io/spare_descriptors.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".rws";
constexpr std::string_view kTrashSuffix = ".rws.trash";
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

/// Half of what the process may open: the other half is for connections, the log, and the server's
/// own tables. Each costs the kernel about 1.5 KiB, hence the upper bound of some 50 MB.
uint32_t HandlesMax(uint32_t wanted) {
  if (wanted != 0) return wanted;
  return static_cast<uint32_t>(std::clamp<uint64_t>(DescriptorLimit() / 2, 16, 32768));
}

}  // namespace

struct SpaceFiles::Impl {
  FileSystem* const file_system;
  const std::string& folder;
  SpaceHandles handles;
  Mutex trash_mutex{LatchRank::kTrash};
  bool trash_scanned ROWAN_GUARDED_BY(trash_mutex) = false;
  std::vector<std::string> trash ROWAN_GUARDED_BY(trash_mutex);  // file names

  Impl(FileSystem* files, const std::string& space_folder, const SpaceFilesOptions& options)
      : file_system(files),
        folder(space_folder),
        handles(files, {.folder = space_folder,
                        .open_max = HandlesMax(options.open_files_max),
                        .direct = options.direct}) {}

  std::string PathOf(std::string_view name) const { return folder + "/" + std::string(name); }

  /// Nobody gets the file any more; it is renamed.
  Status Detach(SpaceId space, const std::string& target);
  Status FillNewFile(const std::string& path, uint64_t size_bytes, bool durable);
  Result<bool> RemoveTrashFile(const std::string& path);
};

SpaceFiles::SpaceFiles(FileSystem* file_system, std::string folder, uint32_t page_size_bytes,
                       const SpaceFilesOptions& options)
    : folder_(std::move(folder)),
      page_size_bytes_(page_size_bytes),
      options_(options),
      impl_(std::make_unique<Impl>(file_system, folder_, options)) {
  ROWAN_CHECK(file_system != nullptr && IsPageSize(page_size_bytes));
}

SpaceFiles::~SpaceFiles() = default;

std::string SpaceFiles::PathOf(SpaceId space) const { return impl_->PathOf(SpaceFileName(space)); }

Status SpaceFiles::Impl::FillNewFile(const std::string& path, uint64_t size_bytes, bool durable) {
  Result<std::unique_ptr<File>> file = file_system->Open(path, {});
  if (!file.ok()) return file.status();
  if (size_bytes != 0) {
    const Status allocated = file.value()->Allocate(0, size_bytes);
    if (!allocated.ok()) return allocated;
  }
  if (!durable) return Status::Ok();
  const Status synced = file.value()->Sync(SyncMethod::kFsync);
  if (!synced.ok()) return synced;
  return file_system->SyncDirectory(folder);
}

Status SpaceFiles::Create(SpaceId space, uint32_t pages) {
  const std::string path = PathOf(space);
  if (IsLive(space)) return Status(Code::kInvalidArgument, "the tablespace exists already");
  Result<std::shared_ptr<File>> file = impl_->handles.OpenFile(path, true);
  if (!file.ok()) return file.status();
  const Status status =
      impl_->FillNewFile(path, uint64_t{pages} * page_size_bytes_, !IsTemporary(space));
  if (!status.ok()) {
    impl_->file_system->Remove(path).Ignore();  // the first failure is the one to report
    return status;
  }
  impl_->handles.Add(space, std::move(file).value());
  return Status::Ok();
}

Status SpaceFiles::Open(SpaceId space) {
  if (IsLive(space)) return Status::Ok();
  // Opened when it is needed: a start with very many tables opens few of them.
  const Result<bool> exists = impl_->file_system->Exists(PathOf(space));
  if (!exists.ok()) return exists.status();
  if (!exists.value()) return Status(Code::kNotFound, "no such file");
  impl_->handles.Add(space, nullptr);
  return Status::Ok();
}

void SpaceFiles::SetAtomic(bool atomic) { impl_->handles.SetAtomic(atomic); }

bool SpaceFiles::IsLive(SpaceId space) const { return impl_->handles.IsLive(space); }

uint32_t SpaceFiles::OpenHandles() const { return impl_->handles.open_count(); }

uint32_t SpaceFiles::OpenHandlesMax() const { return impl_->handles.open_max(); }

Result<std::vector<SpaceId>> SpaceFiles::ListFiles() {
  Result<std::vector<std::string>> names = impl_->file_system->List(folder_);
  if (!names.ok()) return names.status();
  std::vector<SpaceId> spaces;
  for (const std::string& name : names.value()) {
    if (const std::optional<SpaceId> space = ParseName(name, kSuffix)) spaces.push_back(*space);
  }
  return spaces;
}

Status SpaceFiles::Impl::Detach(SpaceId space, const std::string& target) {
  (void)handles.Remove(space);
  return file_system->Rename(PathOf(Format("{}{}{}", kPrefix, space.value(), kSuffix)), target);
}

Status SpaceFiles::Drop(SpaceId space) {
  if (IsTemporary(space)) {
    (void)impl_->handles.Remove(space);
    return impl_->file_system->Remove(PathOf(space));
  }
  const std::string trash_name = Format("{}{}{}", kPrefix, space.value(), kTrashSuffix);
  const Status renamed = impl_->Detach(space, impl_->PathOf(trash_name));
  if (!renamed.ok()) return renamed;
  {
    const MutexLock lock(&impl_->trash_mutex);
    impl_->trash.push_back(trash_name);
  }
  return impl_->file_system->SyncDirectory(folder_);
}

Status SpaceFiles::SetAside(SpaceId space, const std::string& path) {
  Status status = impl_->Detach(space, path);
  if (!status.ok()) return status;
  // The new name first: a crash in between leaves two names, not none.
  status = impl_->file_system->SyncDirectory(path.substr(0, path.rfind('/')));
  if (!status.ok()) return status;
  return impl_->file_system->SyncDirectory(folder_);
}

Result<bool> SpaceFiles::RemoveTrash() {
  MutexLock lock(&impl_->trash_mutex);
  if (!impl_->trash_scanned) {
    Result<std::vector<std::string>> names = impl_->file_system->List(folder_);
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
  lock.Unlock();  // Drop does not wait for the file system's work
  const Result<bool> gone = impl_->RemoveTrashFile(impl_->PathOf(name));
  lock.Lock();
  if (!gone.ok() || !gone.value()) impl_->trash.push_back(name);
  if (!gone.ok()) return gone;
  return impl_->trash.empty();
}

Status SpaceFiles::RemoveTemporary() {
  Result<std::vector<std::string>> names = impl_->file_system->List(folder_);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    if (!ParseName(name, kTemporarySuffix)) continue;
    const Status removed = impl_->file_system->Remove(impl_->PathOf(name));
    if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  }
  return Status::Ok();
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
  ROWAN_DCHECK(buffer.size() == page_size_bytes_);
  const Result<std::shared_ptr<File>> file = impl_->handles.Acquire(id.space, Use::kRead);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * page_size_bytes_;
  const Status status = file.value()->Read(offset, buffer);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Status SpaceFiles::WritePage(PageId id, Bytes page) {
  ROWAN_DCHECK(page.size() == page_size_bytes_);
  const Result<std::shared_ptr<File>> file = impl_->handles.Acquire(id.space, Use::kWrite);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * page_size_bytes_;
  const Status status = file.value()->Write(offset, page);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Result<SpaceFiles::Location> SpaceFiles::Locate(PageId id, Use use) {
  Result<std::shared_ptr<File>> file = impl_->handles.Acquire(id.space, use);
  if (!file.ok()) return file.status();
  return Location{std::move(file).value(), uint64_t{id.page.value()} * page_size_bytes_};
}

Result<uint32_t> SpaceFiles::PageCount(SpaceId space) {
  const Result<std::shared_ptr<File>> file = impl_->handles.Acquire(space, Use::kRead);
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  const uint64_t pages = size.value() / page_size_bytes_;
  if (pages > UINT32_MAX) return Status(Code::kCorrupt, "a file has more pages than numbers");
  return static_cast<uint32_t>(pages);
}

Status SpaceFiles::Extend(SpaceId space, uint32_t pages) {
  if (pages > options_.pages_max) return Status(Code::kNoSpace, "the file has its largest size");
  const Result<std::shared_ptr<File>> file = impl_->handles.Acquire(space, Use::kWrite);
  if (!file.ok()) return file.status();
  const std::shared_ptr<Mutex> growing = impl_->handles.Growing(space);
  if (growing == nullptr) return DeadSpace();
  const MutexLock lock(growing.get());
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  // A partial page at the end can only be the remains of an extension that a crash cut off.
  const uint64_t old_bytes = size.value() / page_size_bytes_ * page_size_bytes_;
  const uint64_t new_bytes = uint64_t{pages} * page_size_bytes_;
  if (new_bytes <= old_bytes) return Status::Ok();
  if (size.value() != old_bytes) {
    const Status status = file.value()->Truncate(old_bytes);
    if (!status.ok()) return status;
  }
  return file.value()->Allocate(old_bytes, new_bytes - old_bytes);
}

Status SpaceFiles::Punch(PageId first, uint32_t pages) {
  const Result<Location> place = Locate(first, Use::kWrite);
  if (!place.ok()) return place.status();
  return place.value().file->Punch(place.value().offset, uint64_t{pages} * page_size_bytes_);
}

Status SpaceFiles::Refill(PageId first, uint32_t pages) {
  const Result<Location> place = Locate(first, Use::kWrite);
  if (!place.ok()) return place.status();
  return place.value().file->Allocate(place.value().offset, uint64_t{pages} * page_size_bytes_);
}

Status SpaceFiles::Sync(SpaceId space, SyncMethod method) {
  return impl_->handles.Sync(space, method);
}

}  // namespace rowan
