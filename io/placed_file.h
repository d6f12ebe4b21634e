// SPDX-License-Identifier: GPL-2.0-only
// Tablespace files outside the instance folder, in a folder that a user named (DATA DIRECTORY): the
// instance folder has a symbolic link to the file, with the name that the file would have there.
// The link is the only record of the place; code that opens, reads or lists tablespaces need not
// know about it.
//
// Invariants, after a crash at any moment too:
//   1. a file outside has a link that points to it: the link is durable before the file is made,
//      and the file is durably gone before the link goes;
//   2. the folder that a link points into existed when the link was made. A dangling link whose
//      folder exists was left by a crash during creation or removal; if the folder is missing, the
//      disk is not mounted, and the file may come back.
// Thread safety: functions on distinct links.
#pragma once

#include <cerrno>
#include <string>

#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Without the last slash; "/" for a path in the root.
std::string FolderOf(const std::string& path);

/// Makes the link `path` to `file` durable, and the folders that `file` needs. Does not create the
/// file. kUnsupported where folders would have to be made in what may be the mount point of a disk
/// that is not mounted: another link into the same folder has lost its file.
Status LinkToPlace(FileSystem* file_system, const std::string& file, const std::string& path);

/// Removes the target of the link `path`, then the link. A link into a missing folder stays, and
/// the result is Ok: see invariant 2.
Status RemovePlaced(FileSystem* file_system, const std::string& path);

/// Removes the link `path` if its target is missing from an existing folder; where the folder is
/// missing the link stays and the result is Ok. kInvalidArgument: the file exists, and both stay.
Status RemoveDeadLink(FileSystem* file_system, const std::string& path);

/// There is a link, but no file: kIoError, so that the tablespace is not taken for dropped.
inline Status PlaceMissing() {
  return Status(Code::kIoError, "its file is not where its DATA DIRECTORY was", ENODEV);
}
inline bool IsPlaceMissing(const Status& status) {
  return status.Is(Code::kIoError) && status.detail() == ENODEV;
}

}  // namespace rowan
