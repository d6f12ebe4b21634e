// SPDX-License-Identifier: GPL-2.0-only
// Files of an instance whose page LSNs still have their former name, `rowan.versions`.
#include <algorithm>
#include <string_view>

#include "base/logging.h"
#include "buffer/page/page_lsns.h"

namespace rowan {

// The base goes last: while it has its former name, the files to be renamed can be told from those
// that an older program made beside files of the current name. After a crash the next start
// finishes the work, whichever of the renames reached the disk.
Status PageLsns::TakeFormerNames() {
  Result<std::vector<std::string>> names = file_system_->List(files_->folder());
  if (!names.ok()) return names.status();
  const std::string_view former = kFormerPageLsnsFileName;
  const auto is_present = [&names](std::string_view name) {
    return std::find(names->begin(), names->end(), name) != names->end();
  };
  std::vector<std::string> found;
  for (const std::string& name : *names) {
    const bool journal = name.starts_with(former) && name[former.size()] == '.';
    if (journal) found.push_back(name);
  }
  const bool stale = is_present(former) && is_present(kPageLsnsFileName);
  if (is_present(former)) found.emplace_back(former);
  if (found.empty()) return Status::Ok();
  if (stale) {
    LogWarning(
        "'{}/{}' is of an earlier version of Rowan that was used in between. It is removed: what "
        "that version wrote is watched again from its next write on.",
        files_->folder(), former);
  }
  for (const std::string& name : found) {
    const Status status =
        stale ? file_system_->Remove(files_->folder() + "/" + name) : TakeFormerName(name);
    if (!status.ok()) return status;
  }
  return file_system_->SyncDirectory(files_->folder());
}

Status PageLsns::TakeFormerName(const std::string& name) {
  const std::string rest = name.substr(std::string_view(kFormerPageLsnsFileName).size());
  return file_system_->Rename(files_->folder() + "/" + name, BasePath() + rest);
}

}  // namespace rowan
