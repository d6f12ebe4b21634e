// SPDX-License-Identifier: GPL-2.0-only
// What a log starts with: its files, checked or created; the way to sync them; and an epoch, which
// is durable in the control file before the log's first group can be. One thread.
#pragma once

#include <cstdint>
#include <memory>

#include "base/ids.h"
#include "base/status.h"
#include "io/file.h"
#include "wal/control_file.h"
#include "wal/log_buffer.h"
#include "wal/log_file_set.h"
#include "wal/log_options.h"
#include "wal/sync_strategy.h"

namespace rowan {

struct LogOpening {
  std::unique_ptr<LogFileSet> files;
  std::unique_ptr<SyncStrategy> strategy;
  uint64_t capacity_bytes = 0;
  uint64_t buffer_bytes = 0;
  Lsn checkpoint;
  Lsn end;  ///< where appending continues
  uint32_t epoch = 0;
};

/// Checks the options, finds or creates the files, makes everything up to `end` durable, chooses
/// the sync method and increments the epoch. See Log::Open.
Result<LogOpening> OpenLogFiles(FileSystem* file_system, const LogOptions& options,
                                ControlFile* control, Lsn end);

/// Puts the block that the next append rewrites into the ring with its old content.
Status RestoreLastBlock(LogFileSet* files, LogBuffer* buffer, Lsn end);

}  // namespace rowan
