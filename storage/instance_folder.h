// SPDX-License-Identifier: GPL-2.0-only
// The folder that an instance is created in. Errors are logged as sentences, and a folder that may
// hold anybody's data is left as it is. Thread safety: one thread, before anything else runs.
#pragma once

#include <string>

#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Creates the folder if it is missing. True if it was.
Result<bool> MakeInstanceFolder(FileSystem* file_system, const std::string& folder);

/// Makes the folder ready for a new instance: empties one in which a creation was cut short, and
/// gives its name durability. `made`: by this start. kInvalidArgument for a folder that is not
/// ours, kCorrupt for one that has an instance without its control file.
Status ClearInstanceFolder(FileSystem* file_system, const std::string& folder, bool made);

}  // namespace rowan
