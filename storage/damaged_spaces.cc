// SPDX-License-Identifier: GPL-2.0-only
#include "storage/damaged_spaces.h"

#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/format.h"
#include "base/logging.h"
#include "io/space_files.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".damaged";

}  // namespace

std::string DamagedSpaces::PathOf(SpaceId space) const {
  return Format("{}/{}{}{}", folder_, kPrefix, space.value(), kSuffix);
}

Status DamagedSpaces::Load() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  const ExclusiveLock lock(&mutex_);
  for (const std::string& name : *names) {
    if (const std::optional<SpaceId> space = ParseSpaceName(name, kSuffix)) spaces_.insert(*space);
  }
  return Status::Ok();
}

bool DamagedSpaces::Contains(SpaceId space) const {
  const SharedLock lock(&mutex_);
  return spaces_.contains(space);
}

std::vector<SpaceId> DamagedSpaces::All() const {
  const SharedLock lock(&mutex_);
  return {spaces_.begin(), spaces_.end()};
}

bool DamagedSpaces::Waits(SpaceId space) const {
  const SharedLock lock(&mutex_);
  return waiting_.contains(space);
}

std::vector<SpaceId> DamagedSpaces::Waiting() const {
  const SharedLock lock(&mutex_);
  return {waiting_.begin(), waiting_.end()};
}

void DamagedSpaces::SetWaits(SpaceId space, bool waits) {
  const ExclusiveLock lock(&mutex_);
  if (waits) {
    waiting_.insert(space);
  } else {
    waiting_.erase(space);
  }
}

Status DamagedSpaces::Mark(SpaceId space, const std::string& why) {
  if (Contains(space)) return Status::Ok();
  const auto write_mark = [&]() -> Status {
    Result<std::unique_ptr<File>> file = file_system_->Open(PathOf(space), {.create = true});
    if (!file.ok()) return file.status();
    // The name alone is the mark: the sentence may be cut short.
    const Status written = (*file)->Write(WriteCause::kControl, 0, AsBytes(why + "\n"));
    if (!written.ok()) return written;
    const Status synced = (*file)->Sync(SyncMethod::kFsync);
    if (!synced.ok()) return synced;
    return file_system_->SyncDirectory(folder_);
  };
  const Status status = write_mark();
  if (!status.ok()) {
    LogError("The file '{}' could not be written: {}.", PathOf(space), status.message());
    return status;
  }
  const ExclusiveLock lock(&mutex_);
  spaces_.insert(space);
  return Status::Ok();
}

void DamagedSpaces::Forget(SpaceId space) {
  {
    const ExclusiveLock lock(&mutex_);
    waiting_.erase(space);  // redo removes what it kept of a space that no longer waits
    if (spaces_.erase(space) == 0) return;
  }
  file_system_->Remove(PathOf(space)).Ignore();
}

}  // namespace rowan
