// SPDX-License-Identifier: GPL-2.0-only
// What `auto` means: measures each sync method for a moment on a scratch file in the log's folder
// and chooses. The finding goes to the error log. Takes some ten milliseconds on a fast disk and at
// most about a third of a second on a slow one. Thread safety: one probe of a folder at a time.
#pragma once

#include <string>

#include "io/file.h"
#include "wal/log_options.h"

namespace rowan {

/// Never kAuto. kFdatasync where nothing can be measured.
LogSyncMethod ProbeSyncMethod(FileSystem* file_system, const std::string& folder);

}  // namespace rowan
