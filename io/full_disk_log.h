// SPDX-License-Identifier: GPL-2.0-only
// FullDiskLog: which failed file calls have been logged. A full disk fails every attempt of every
// statement: log one line per file and cause, then one a minute with the number of those left out.
// Thread safety: all members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <unordered_map>

#include "base/mutex.h"

namespace rowan {

class FullDiskLog {
 public:
  /// The number of failures of this file with this error left out since one was last logged;
  /// nullopt if this one is to be left out, too.
  std::optional<uint64_t> Note(const std::string& path, int error, uint64_t now_micros);

 private:
  struct Told {
    int error = 0;
    uint64_t micros = 0;
    uint64_t left_out = 0;  ///< since then
  };
  Mutex mutex_{LatchRank::kFullDiskLog};
  std::unordered_map<std::string, Told> told_ ROWAN_GUARDED_BY(mutex_);
};

/// Logs a failed call for the operator; errno is left unchanged. ENOSPC and EDQUOT as above.
void LogFailedCall(const char* call, const std::string& path, uint64_t offset, int error);

}  // namespace rowan
