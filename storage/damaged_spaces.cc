// SPDX-License-Identifier: GPL-2.0-only
#include "storage/damaged_spaces.h"

#include <charconv>
#include <memory>
#include <optional>
#include <string_view>

#include "base/bytes.h"
#include "base/format.h"
#include "base/logging.h"

namespace rowan {
namespace {

constexpr std::string_view kPrefix = "space_";
constexpr std::string_view kSuffix = ".damaged";

std::optional<SpaceId> ParseName(std::string_view name) {
  if (!name.starts_with(kPrefix) || !name.ends_with(kSuffix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  name.remove_suffix(kSuffix.size());
  uint32_t id = 0;
  const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), id);
  if (error != std::errc() || end != name.data() + name.size()) return std::nullopt;
  return SpaceId(id);
}

}  // namespace

std::string DamagedSpaces::PathOf(SpaceId space) const {
  return Format("{}/{}{}{}", folder_, kPrefix, space.value(), kSuffix);
}

Status DamagedSpaces::Load() {
  Result<std::vector<std::string>> names = file_system_->List(folder_);
  if (!names.ok()) return names.status();
  const ExclusiveLock lock(&mutex_);
  for (const std::string& name : *names) {
    if (const std::optional<SpaceId> space = ParseName(name)) spaces_.insert(*space);
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

Status DamagedSpaces::Mark(SpaceId space, const std::string& why) {
  if (Contains(space)) return Status::Ok();
  const auto write_mark = [&]() -> Status {
    Result<std::unique_ptr<File>> file = file_system_->Open(PathOf(space), {.create = true});
    if (!file.ok()) return file.status();
    // The name alone is the mark: the sentence may come to be cut short.
    const Status written = (*file)->Write(0, AsBytes(why + "\n"));
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
    if (spaces_.erase(space) == 0) return;
  }
  file_system_->Remove(PathOf(space)).Ignore();
}

}  // namespace rowan
