// SPDX-License-Identifier: GPL-2.0-only
// The log files of a folder with the contents of their headers. Thread safety: plain functions.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/log_file_header.h"

namespace rowan {

struct ListedLogFile {
  uint64_t number = 0;
  Status status;  ///< kCorrupt: nothing in the header can be relied on
  LogFileHeader header;
};

/// Ordered by number. kNewerFormat (logged) if a newer build wrote one of them; kIoError.
Result<std::vector<ListedLogFile>> ListLogFiles(FileSystem* file_system, const std::string& folder,
                                                const InstanceId& instance_id);

/// One file; kNotFound if it does not exist.
Result<LogFileHeader> ReadHeaderOfLogFile(FileSystem* file_system, const std::string& folder,
                                          const InstanceId& instance_id, uint64_t number);

}  // namespace rowan
