// SPDX-License-Identifier: GPL-2.0-only
// Names, sizes and the life of tablespace files. Their handles are in space_handles.cc.
#include "io/space_files.h"

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <optional>
#include <string_view>
#include <utility>

#include "base/assertions.h"
#include "base/format.h"
#include "base/logging.h"
#include "base/page_size.h"
#include "io/placed_file.h"
#include "io/spare_descriptors.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".rws";
constexpr std::string_view kTrashSuffix = ".rws.trash";
/// A trash file is truncated by this much per step: freeing many gigabytes at once stalls file
/// systems.
constexpr uint64_t kTrashStepBytes = uint64_t{256} << 20;
/// About a day, if calls come every second.
constexpr uint32_t kTrashPauseCallsMax = 1 << 16;

/// Half of what the process may open: the other half is for connections, the log, and the server's
/// own tables. Each costs the kernel about 1.5 KiB, hence the upper bound of some 50 MB.
uint32_t HandlesMax(uint32_t wanted) {
  if (wanted != 0) return wanted;
  return static_cast<uint32_t>(std::clamp<uint64_t>(DescriptorLimit() / 2, 16, 32768));
}

}  // namespace

std::optional<SpaceId> ParseSpaceName(std::string_view name, std::string_view suffix) {
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

std::optional<SpaceId> ParseSpaceFileName(std::string_view name) {
  return ParseSpaceName(name, kSuffix);
}

SpaceFiles::SpaceFiles(FileSystem* file_system, std::string folder, uint32_t page_size_bytes,
                       const SpaceFilesOptions& options)
    : file_system_(file_system),
      folder_(std::move(folder)),
      page_size_bytes_(page_size_bytes),
      options_(options),
      handles_(file_system, {.folder = folder_,
                             .open_max = HandlesMax(options_.open_files_max),
                             .direct = options_.direct}) {
  ROWAN_CHECK(file_system != nullptr && IsPageSize(page_size_bytes));
}

Status SpaceFiles::FillNewFile(const std::string& path, uint64_t size_bytes, bool durable) {
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {});
  if (!file.ok()) return file.status();
  if (size_bytes != 0) {
    const Status allocated = file.value()->Allocate(0, size_bytes);
    if (!allocated.ok()) return allocated;
  }
  if (!durable) return Status::Ok();
  const Status synced = file.value()->Sync(SyncMethod::kFsync);
  if (!synced.ok()) return synced;
  return file_system_->SyncDirectory(FolderOf(path));
}

Status SpaceFiles::Create(SpaceId space, uint32_t pages, const std::string& place) {
  if (IsLive(space)) return Status(Code::kInvalidArgument, "the tablespace exists already");
  const std::string path = PathOf(space);
  if (place.empty()) return CreateFile(space, pages, path);
  Status status = LinkToPlace(file_system_, place, path);
  if (!status.ok()) return status;
  status = CreateFile(space, pages, place);
  if (!status.ok()) {
    // A file that existed before is left alone.
    const bool taken = status.Is(Code::kInvalidArgument) && status.detail() == EEXIST;
    (taken ? file_system_->Remove(path) : RemovePlaced(file_system_, path)).Ignore();
  }
  return status;
}

Status SpaceFiles::CheckUntorn(const std::string& path) const {
  if (!handles_.atomic()) return Status::Ok();
  const Result<uint32_t> most = file_system_->AtomicWriteUnitMax(path);
  if (!most.ok()) return most.status();
  if (most.value() >= page_size_bytes_) return Status::Ok();
  LogError(
      "'{}' cannot be used with rowan_doublewrite = atomic: its disk does not promise untorn "
      "writes of a page.",
      path);
  return Status(Code::kUnsupported, "the place does not promise untorn writes of a page");
}

Status SpaceFiles::CreateFile(SpaceId space, uint32_t pages, const std::string& path) {
  Result<std::shared_ptr<File>> file = handles_.OpenFile(path, true);
  if (!file.ok()) return file.status();
  Status status = CheckUntorn(path);
  if (status.ok()) {
    status = FillNewFile(path, uint64_t{pages} * page_size_bytes_, !IsTemporary(space));
  }
  if (!status.ok()) {
    file_system_->Remove(path).Ignore();  // the first failure is the one to report
    return status;
  }
  handles_.Add(space, std::move(file).value());
  return Status::Ok();
}

Status SpaceFiles::Open(SpaceId space) {
  if (IsLive(space)) return Status::Ok();
  // Opened on demand: a start with very many tables opens few of them.
  const Result<bool> exists = file_system_->Exists(PathOf(space));
  if (!exists.ok()) return exists.status();
  if (!exists.value()) {
    const Result<std::string> target = file_system_->ReadLink(PathOf(space));
    if (!target.ok()) return target.status();
    return target.value().empty() ? Status(Code::kNotFound, "no such file") : PlaceMissing();
  }
  const Status usable = CheckUntorn(PathOf(space));
  if (usable.ok()) handles_.Add(space, nullptr);
  return usable;
}

std::string SpaceFiles::PlaceOf(SpaceId space) const {
  std::string path = PathOf(space);
  Result<std::string> target = file_system_->ReadLink(path);
  return target.ok() && !target.value().empty() ? std::move(target).value() : path;
}

Status SpaceFiles::RemoveDeadLink(SpaceId space) {
  const std::string path = PathOf(space);
  const Result<std::string> target = file_system_->ReadLink(path);
  if (!target.ok()) return target.status();
  return target.value().empty() ? Status(Code::kNotFound)
                                : rowan::RemoveDeadLink(file_system_, path);
}

Result<std::vector<SpaceId>> SpaceFiles::ListFiles() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  std::vector<SpaceId> spaces;
  for (const std::string& name : names.value()) {
    const std::optional<SpaceId> space = ParseSpaceName(name, kSuffix);
    if (space.has_value()) spaces.push_back(*space);
  }
  return spaces;
}

Status SpaceFiles::Detach(SpaceId space, const std::string& target) {
  (void)handles_.Remove(space);
  return file_system_->Rename(InFolder(Format("{}{}{}", kPrefix, space.value(), kSuffix)), target);
}

Status SpaceFiles::Drop(SpaceId space) {
  if (IsTemporary(space)) {
    (void)handles_.Remove(space);
    return file_system_->Remove(PathOf(space));
  }
  const std::string trash_name = Format("{}{}{}", kPrefix, space.value(), kTrashSuffix);
  const Status renamed = Detach(space, InFolder(trash_name));
  if (renamed.Is(Code::kNotFound)) {
    // An earlier try may have renamed it and failed to make that durable.
    const Status synced = file_system_->SyncDirectory(folder_);
    return synced.ok() ? renamed : synced;
  }
  if (!renamed.ok()) return renamed;
  {
    const MutexLock lock(&trash_mutex_);
    trash_.push_back(trash_name);
  }
  return file_system_->SyncDirectory(folder_);
}

Status SpaceFiles::SetAside(SpaceId space, const std::string& path) {
  Status status = Detach(space, path);
  if (!status.ok()) return status;
  // The new name first: a crash in between leaves two names, not none.
  status = file_system_->SyncDirectory(path.substr(0, path.rfind('/')));
  if (!status.ok()) return status;
  return file_system_->SyncDirectory(folder_);
}

Status SpaceFiles::ListTrash() {
  if (trash_scanned_) return Status::Ok();
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  trash_.clear();
  for (std::string& name : names.value()) {
    if (ParseSpaceName(name, kTrashSuffix)) trash_.push_back(std::move(name));
  }
  trash_scanned_ = true;
  return Status::Ok();
}

Result<bool> SpaceFiles::RemoveTrash() {
  MutexLock lock(&trash_mutex_);
  const Status listed = ListTrash();
  if (!listed.ok()) return listed;
  if (trash_.empty()) {
    if (trash_kept_.empty() || --trash_calls_left_ != 0) return true;
    trash_.swap(trash_kept_);
  }
  const std::string name = std::move(trash_.back());
  trash_.pop_back();
  lock.Unlock();  // Drop does not wait for the file system's work
  const Result<bool> gone = RemoveTrashFile(InFolder(name));
  lock.Lock();
  if (!gone.ok()) {
    KeepTrash(name);
  } else if (!gone.value()) {
    trash_.push_back(name);
  }
  if (trash_.empty() && trash_kept_.empty()) trash_pause_calls_ = kTrashPauseCallsMin;
  return trash_.empty();
}

void SpaceFiles::KeepTrash(const std::string& name) {
  if (trash_kept_.empty()) {
    trash_calls_left_ = trash_pause_calls_;
    trash_pause_calls_ = std::min(trash_pause_calls_ * 2, kTrashPauseCallsMax);
  }
  trash_kept_.push_back(name);
}

Status SpaceFiles::RemoveTemporary() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  for (const std::string& name : names.value()) {
    if (!ParseSpaceName(name, kTemporarySuffix)) continue;
    const Status removed = file_system_->Remove(InFolder(name));
    if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  }
  return Status::Ok();
}

Result<bool> SpaceFiles::RemoveTrashFile(const std::string& path) {
  const Result<std::string> target = file_system_->ReadLink(path);
  if (target.status().Is(Code::kNotFound)) return true;
  if (!target.ok()) return target.status();
  Result<std::unique_ptr<File>> file = file_system_->Open(path, {});
  if (file.status().Is(Code::kNotFound)) {
    const Status removed = target.value().empty() ? Status::Ok() : RemovePlaced(file_system_, path);
    return removed.ok() ? Result<bool>(true) : removed;
  }
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  if (size.value() > kTrashStepBytes) {
    const Status status = file.value()->Truncate(size.value() - kTrashStepBytes);
    if (!status.ok()) return status;
    return false;
  }
  const Status removed =
      target.value().empty() ? file_system_->Remove(path) : RemovePlaced(file_system_, path);
  if (!removed.ok() && !removed.Is(Code::kNotFound)) return removed;
  return true;
}

Status SpaceFiles::ReadPage(PageId id, MutableBytes buffer) {
  ROWAN_DCHECK(buffer.size() == page_size_bytes_);
  const Result<std::shared_ptr<File>> file = handles_.Acquire(id.space, Use::kRead);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * page_size_bytes_;
  const Status status = file.value()->Read(offset, buffer);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Status SpaceFiles::WritePage(PageId id, Bytes page) {
  ROWAN_DCHECK(page.size() == page_size_bytes_);
  const Result<std::shared_ptr<File>> file = handles_.Acquire(id.space, Use::kWrite);
  if (!file.ok()) return file.status();
  const uint64_t offset = uint64_t{id.page.value()} * page_size_bytes_;
  const Status status = file.value()->Write(offset, page);
  return status.ok() || IsLive(id.space) ? status : DeadSpace();
}

Result<SpaceFiles::Location> SpaceFiles::Locate(PageId id, Use use) {
  Result<std::shared_ptr<File>> file = handles_.Acquire(id.space, use);
  if (!file.ok()) return file.status();
  return Location{std::move(file).value(), uint64_t{id.page.value()} * page_size_bytes_};
}

Result<uint32_t> SpaceFiles::PageCount(SpaceId space) {
  const Result<std::shared_ptr<File>> file = handles_.Acquire(space, Use::kRead);
  if (!file.ok()) return file.status();
  const Result<uint64_t> size = file.value()->Size();
  if (!size.ok()) return size.status();
  const uint64_t pages = size.value() / page_size_bytes_;
  if (pages > UINT32_MAX) return Status(Code::kCorrupt, "a file has more pages than numbers");
  return static_cast<uint32_t>(pages);
}

Status SpaceFiles::Extend(SpaceId space, uint32_t pages) {
  if (pages > options_.pages_max) return Status(Code::kNoSpace, "the file has its largest size");
  const Result<std::shared_ptr<File>> file = handles_.Acquire(space, Use::kWrite);
  if (!file.ok()) return file.status();
  const std::shared_ptr<Mutex> growing = handles_.Growing(space);
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

}  // namespace rowan
