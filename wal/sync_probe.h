// SPDX-License-Identifier: GPL-2.0-only
// What `auto` means: measures the sync methods on scratch files in the log's folder and chooses
// one. The methods take turns, round by round, and medians decide, so that a burst of other disk
// work does not. The result goes to the error log. Takes tens of milliseconds on a fast disk and
// about a third of a second on a slow one. Thread safety: one probe of a folder at a time.
#pragma once

#include <string>
#include <vector>

#include "io/file.h"
#include "wal/log_options.h"

namespace rowan {

/// How long a durable write takes with a method: the median and the best tenth.
struct SyncFinding {
  LogSyncMethod method = LogSyncMethod::kFdatasync;
  std::string refusal;  ///< why it cannot be used here; empty: it can
  double median_us = 0;
  double best_us = 0;
};

/// The fastest of `findings`, which come in order of simplicity: a later one is chosen only if both
/// its figures are clearly better. kFdatasync where none is usable.
LogSyncMethod ChooseSyncMethod(const std::vector<SyncFinding>& findings);

/// Never kAuto. kFdatasync where nothing can be measured.
LogSyncMethod ProbeSyncMethod(FileSystem* file_system, const std::string& folder);

}  // namespace rowan
