// SPDX-License-Identifier: GPL-2.0-only
// EngineFigures: the state of an instance at one moment. What has happened since the start is in
// the counters (base/counters.h).
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "io/write_batch.h"
#include "mvcc/purge/purge_figures.h"
#include "storage/scrub_figures.h"
#include "wal/log_options.h"

namespace rowan {

struct EngineFigures {
  bool stopped = false;  ///< a write or sync of log or data failed
  uint32_t page_size_bytes = 0;

  // Buffer pool and files.
  uint64_t pool_frames = 0;
  uint64_t pool_frames_free = 0;
  uint64_t pool_frames_dirty = 0;
  uint64_t page_lsns_bytes = 0;  ///< memory of the last written LSN of each page
  uint64_t visibility_map_bytes = 0;
  ScrubFigures scrub;
  IoBackend io_backend = IoBackend::kAuto;
  uint64_t open_files = 0;  ///< handles of tablespaces
  uint64_t open_files_max = 0;

  // Log. Each is read separately: they may belong to neighbouring moments.
  Lsn log_tail{0};
  Lsn log_written{0};
  Lsn log_durable{0};
  Lsn log_checkpoint{0};
  uint64_t checkpoint_age_bytes = 0;  ///< what a start after a crash would redo
  uint64_t log_capacity_bytes = 0;
  uint64_t log_files = 0;
  uint64_t log_readers = 0;     ///< holding a part of the log, see Log::Hold
  uint64_t log_held_bytes = 0;  ///< from the oldest of them to the end of the log
  LogSyncMethod log_sync_method = LogSyncMethod::kAuto;

  // Transactions.
  uint64_t failed_rollbacks = 0;  ///< waiting for a retry, with rows locked
  PurgeFigures purge;
  uint64_t row_locks = 0;              ///< explicit ones
  uint64_t row_lock_memory_bytes = 0;  ///< of explicit ones, ranges and sets

  [[nodiscard]] uint64_t pool_bytes() const { return pool_frames * page_size_bytes; }
};

}  // namespace rowan
