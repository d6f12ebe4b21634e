// SPDX-License-Identifier: GPL-2.0-only
// What the server's coordinators recorded about the outcome of transactions: the binary log files,
// and the coordinator log of a server without one. Read-only; before the server opens them. Thread
// safety: plugin initialisation.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_set>
#include <vector>

#include "base/status.h"

namespace rowan {

struct BinlogFile {
  std::string path;
  uint32_t number = 0;  ///< the extension of its name
};

/// Of a file with this name or path; nothing: it is none of a binary log.
std::optional<uint32_t> NumberOfBinlog(const std::string& path);

/// Oldest first. Empty without a binary log.
Result<std::vector<BinlogFile>> ListBinlogFiles();

struct BinlogState {
  bool starts_run = false;  ///< created by a server start, not by a rotation
  bool in_use = false;      ///< neither closed nor recovered yet
};
Result<BinlogState> StateOfBinlog(const BinlogFile& file);

using Outcomes = std::unordered_set<uint64_t>;  ///< numbers of committed transactions

/// Tells a file from another of its name; what the server changes in a file that it closes does not
/// count.
Result<uint32_t> MarkOfBinlog(const std::string& path);

/// Where a file is whole that the server cut while Rowan was away (server/binlog_restore.h).
[[nodiscard]] std::string RestoredBinlogPath(const std::string& path);

/// The transactions that a binary log file, or the whole one beside it, holds completely.
Result<Outcomes> CommittedInBinlog(const BinlogFile& file);

/// The transactions in the coordinator log of a server without a binary log. kNotFound.
Result<Outcomes> CommittedInCoordinatorLog();

}  // namespace rowan
