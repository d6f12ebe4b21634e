// SPDX-License-Identifier: GPL-2.0-only
// The folder that an instance is created in. Errors are logged as sentences, and a folder that may
// hold someone's data is left unchanged. Thread safety: one thread, before anything else runs.
#pragma once

#include <string>

#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Creates the folder if it is missing. True if it was.
Result<bool> MakeInstanceFolder(FileSystem* file_system, const std::string& folder);

/// Prepares the folder for a new instance: empties one in which a creation was interrupted, and
/// makes its name durable. `made`: by this start. kInvalidArgument for a folder that is not ours,
/// kCorrupt for one that has an instance without its control file.
Status ClearInstanceFolder(FileSystem* file_system, const std::string& folder, bool made);

}  // namespace rowan
