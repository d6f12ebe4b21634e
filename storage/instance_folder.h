// SPDX-License-Identifier: GPL-2.0-only
// The folder in which an instance is created. Errors are logged as sentences, and a folder that may
// hold data is left unchanged. Thread safety: one thread, before anything else runs.
#pragma once

#include <string>

#include "base/status.h"
#include "io/file.h"

namespace rowan {

/// Creates the folder if it is missing; true if it was.
Result<bool> MakeInstanceFolder(FileSystem* file_system, const std::string& folder);

/// Prepares the folder for a new instance: empties one in which a creation was interrupted, and
/// makes its name durable. `made`: this start created it. kInvalidArgument for a folder that is not
/// ours, kCorrupt for one that has an instance without its control file.
Status ClearInstanceFolder(FileSystem* file_system, const std::string& folder, bool made);

}  // namespace rowan
