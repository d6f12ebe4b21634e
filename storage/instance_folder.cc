// SPDX-License-Identifier: GPL-2.0-only
#include "storage/instance_folder.h"

#include <algorithm>
#include <vector>

#include "base/logging.h"
#include "wal/control_file.h"

namespace rowan {
namespace {

std::string ParentOf(std::string folder) {
  while (folder.size() > 1 && folder.ends_with('/')) folder.pop_back();
  const size_t slash = folder.rfind('/');
  if (slash == std::string::npos) return ".";
  return slash == 0 ? "/" : folder.substr(0, slash);
}

bool IsOurs(const std::string& name) {
  return name.starts_with("space_") || name.starts_with("redo") || name.starts_with("rowan.");
}

/// Refuses a folder that is not ours, or that has an instance without its control file.
Status CheckUnfinished(const std::string& folder, const std::vector<std::string>& present,
                       bool had_control) {
  const auto strange = std::find_if_not(present.begin(), present.end(), IsOurs);
  if (strange != present.end()) {
    LogError(
        "The folder '{}' holds '{}' and no Rowan control file: it is not a Rowan data "
        "folder. Nothing was changed.",
        folder, *strange);
    return Status(Code::kInvalidArgument, "not a Rowan data folder");
  }
  // Files without a finished control file are left over from an interrupted creation, unless a
  // control file was lost: then tables may exist and nothing may be touched.
  if (had_control || present.empty()) return Status::Ok();
  // The first file of a creation has this name until it is whole.
  const bool just_begun = present.size() == 1 && present.front() == kControlDraftName;
  if (just_begun) return Status::Ok();
  LogError(
      "The folder '{}' holds Rowan files but no control file. Restore 'rowan.control' or "
      "remove the folder; nothing was changed.",
      folder);
  return Status(Code::kCorrupt, "control file is missing");
}

Status RemoveUnfinished(FileSystem* file_system, const std::string& folder) {
  Result<std::vector<std::string>> present = file_system->List(folder);
  if (!present.ok()) return present.status();
  Result<bool> had_control = file_system->Exists(folder + "/" + kControlFileName);
  if (!had_control.ok()) return had_control.status();
  const Status checked = CheckUnfinished(folder, *present, *had_control);
  if (!checked.ok()) return checked;
  // The control file last: until it is gone, a crash leaves a folder that is recognised as
  // unfinished. Its draft is never removed: another process may just be writing it, and holds its
  // lock.
  for (const std::string& name : *present) {
    if (name == kControlFileName || name == kControlDraftName) continue;
    const Status removed = file_system->Remove(folder + "/" + name);
    if (!removed.ok()) return removed;
  }
  if (!*had_control) return Status::Ok();
  const Status synced = file_system->SyncDirectory(folder);
  if (!synced.ok()) return synced;
  return file_system->Remove(folder + "/" + kControlFileName);
}

}  // namespace

Result<bool> MakeInstanceFolder(FileSystem* file_system, const std::string& folder) {
  const Result<bool> existed = file_system->Exists(folder);
  const Status status = file_system->CreateFolder(folder);
  if (!status.ok()) {
    LogError("The folder '{}' cannot be created: {}.", folder, status.message());
    return status;
  }
  return existed.ok() && !existed.value();
}

Status ClearInstanceFolder(FileSystem* file_system, const std::string& folder, bool made) {
  const Status cleared = RemoveUnfinished(file_system, folder);
  if (!cleared.ok()) return cleared;
  const Status named = file_system->SyncDirectory(ParentOf(folder));
  // A folder that existed before may have a parent that only its administrator can open.
  return made ? named : Status::Ok();
}

}  // namespace rowan
