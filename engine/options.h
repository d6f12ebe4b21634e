// SPDX-License-Identifier: GPL-2.0-only
// Everything that can be set when an instance is opened. The plugin fills it from rowan_*
// variables, tools from their command line. Units in the names.
#pragma once

#include <cstdint>
#include <functional>
#include <string>

#include "base/status.h"
#include "base/work_budget.h"
#include "buffer/buffer_pool.h"
#include "mvcc/lock/lock_wait_hooks.h"
#include "wal/log_options.h"

namespace rowan {

struct EngineOptions {
  std::string folder;                ///< holds all files; created when missing
  uint32_t page_size_bytes = 16384;  ///< used only when the instance is created
  uint64_t buffer_pool_bytes = uint64_t{128} << 20;
  uint64_t redo_log_capacity_bytes = uint64_t{256} << 20;
  uint64_t log_buffer_bytes = uint64_t{16} << 20;
  LogSyncMethod log_sync_method = LogSyncMethod::kAuto;
  SyncMethod data_sync_method = SyncMethod::kFdatasync;
  DoublewriteMode doublewrite = DoublewriteMode::kOn;
  IoBackend io_backend = IoBackend::kAuto;
  uint32_t io_capacity_pages_per_second = 10000;
  uint64_t lock_memory_bytes_max = 0;  ///< for row locks; 0: a quarter of the pool or 256 MiB
  uint64_t commit_ring_entries = uint64_t{1} << 20;  ///< outcomes found without a lock; power of 2
  uint32_t purge_workers = 1;
  uint32_t page_cleaners = 0;    ///< threads that write pages; 0: by processors and pool size
  uint32_t session_writers = 0;  ///< see BufferOptions
  uint32_t open_files_max = 0;   ///< tablespace handles; 0: from what the process may open
  uint32_t redo_workers = 0;     ///< of a start after a crash; 0: by the number of processors
  /// Records of the log held in memory at a time while they are redone; 0: by the memory at hand.
  uint64_t redo_memory_bytes_max = 0;
  /// Asked before a new instance is created: the smallest table id it may hand out, or why it must
  /// not be. May be empty: there is nothing against it.
  std::function<Result<uint64_t>()> before_creation;
  /// 0: damage of the undo space that redo meets keeps the instance closed, and tables' files that
  /// cannot be read may do so. 1: it opens all the same, see docs/durability.md.
  uint32_t force_recovery = 0;
  /// From when it says so, waits for row locks, index builds and long rollbacks end early; what is
  /// not rolled back is so after the next start. Null: it never does. Any thread.
  ShutdownSign shutdown_sign = nullptr;
  LockWaitHooks lock_wait_hooks{};  ///< what the host wants to know of waits for row locks
  bool background = true;           ///< false: tests drive purge, cleaning and rollback themselves
};

}  // namespace rowan
