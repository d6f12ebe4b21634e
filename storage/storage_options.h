// SPDX-License-Identifier: GPL-2.0-only
// Settings of a storage and of its parts. Units in the names. Plain data.
#pragma once

#include <cstdint>
#include <string>

#include "base/page_size.h"
#include "base/setting_limits.h"
#include "buffer/buffer_options.h"
#include "io/space_files.h"
#include "storage/recovery.h"
#include "wal/log_options.h"

namespace rowan {

inline constexpr uint64_t kScrubRateDefault = uint64_t{4} << 20;
inline constexpr SettingLimits<uint64_t> kScrubRateLimits{0, uint64_t{1} << 40};

struct StorageOptions {
  std::string folder;                           ///< holds all files; created when missing
  uint32_t page_size_bytes = kPageSizeDefault;  ///< used only when the instance is created
  SpaceFilesOptions files;
  LogOptions log;
  BufferOptions buffer;
  RecoveryOptions recovery;
  /// Nothing on disk is changed: everything written, by redo or otherwise, stays in memory
  /// (io/shadow_file_system.h), and Close writes nothing. A new instance is not created.
  bool read_only = false;
  uint64_t scrub_bytes_per_second = kScrubRateDefault;  ///< see storage/scrubber.h; 0: off
  bool background = true;  ///< false: tests drive cleaning and checkpoints, and Open finishes redo
};

}  // namespace rowan
