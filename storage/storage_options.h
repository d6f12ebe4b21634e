// SPDX-License-Identifier: GPL-2.0-only
// Settings of a storage: its own, and those of its parts. Units in the names. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "buffer/buffer_pool.h"
#include "storage/recovery.h"
#include "wal/log_options.h"

namespace rowan {

struct StorageOptions {
  std::string folder;                ///< holds all files; created when missing
  uint32_t page_size_bytes = 16384;  ///< used only when the instance is created
  uint32_t open_files_max = 0;       ///< tablespace handles; 0: from what the process may open
  uint32_t file_pages_max = UINT32_MAX;
  LogOptions log;
  BufferOptions buffer;
  RecoveryOptions recovery;
  bool background = true;  ///< false: tests drive cleaning and checkpoints, and redo ends in Open
};

}  // namespace rowan
