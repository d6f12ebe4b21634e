// SPDX-License-Identifier: GPL-2.0-only
// Folders of the fault double, copied and emptied. Thread safety: none.
#pragma once

#include <string>

#include "tests/support/fault_file_system.h"

namespace rowan {

/// All files of a folder, links followed, into another one, durably; failures are test failures.
void CopyFolder(FaultFileSystem* files, const std::string& from, const std::string& to);

void RemoveFolder(FaultFileSystem* files, const std::string& folder);

}  // namespace rowan
