// SPDX-License-Identifier: GPL-2.0-only
// The commands of rowan-bench. Each parses its own options (`arguments` without the program's and
// the command's name), prints a table to stdout and returns an exit status.
#pragma once

#include <string>
#include <vector>

namespace rowan {

/// rowan-bench sync: durable writes by method, kind of file and size.
int RunSyncCommand(const std::vector<std::string>& arguments);
/// rowan-bench commit: commits of an engine by number of threads.
int RunCommitCommand(const std::vector<std::string>& arguments);

}  // namespace rowan
