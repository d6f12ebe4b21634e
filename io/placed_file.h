// SPDX-License-Identifier: GPL-2.0-only
// Files of tablespaces that lie outside of the instance folder, in a folder that a user named (DATA
// DIRECTORY): in the instance folder is a symbolic link to the file, of the name that the file
// would have there. The link is the only record of the place; who opens, reads or lists tablespaces
// need not know of it.
//
// Invariants, after a crash at any moment too:
//   1. a file out there has a link that leads to it: the link is durable before the file is made,
//      and the file is durably gone before the link goes;
//   2. the folder that a link leads into was there when the link was made. A link to nothing whose
//      folder is there is what a crash left of a creation or removal; without the folder, the disk
//      is not mounted, and the file may come back.
// Thread safety: functions on distinct links.
#pragma once

#include <cerrno>
#include <string>

#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Without the last slash; "/" for what lies in the root.
std::string FolderOf(const std::string& path);

/// Makes the link `path` to `file` durable, and the folders that `file` needs. Not the file.
/// kUnsupported where folders would have to be made in what may be the mount point of a disk that
/// is away: the file of another link of the same folder is missing there.
Status LinkToPlace(FileSystem* file_system, const std::string& file, const std::string& path);

/// Removes what the link `path` leads to, and then the link. A link into a folder that is missing
/// is left, and Ok: see invariant 2.
Status RemovePlaced(FileSystem* file_system, const std::string& path);

/// Removes the link `path` if it leads to nothing in a folder that is there; Ok and left where the
/// folder is missing. kInvalidArgument: the file is there, and both stay.
Status RemoveDeadLink(FileSystem* file_system, const std::string& path);

/// There is a link, but no file: kIoError, so that nobody takes the tablespace for dropped.
inline Status PlaceMissing() {
  return Status(Code::kIoError, "its file is not where its DATA DIRECTORY was", ENODEV);
}
inline bool IsPlaceMissing(const Status& status) {
  return status.Is(Code::kIoError) && status.detail() == ENODEV;
}

}  // namespace rowan
