// SPDX-License-Identifier: GPL-2.0-only
// Settings of the redo log and their limits. Units in the names. Plain data.
#pragma once

#include <cstddef>
#include <cstdint>

#include "base/setting_limits.h"

namespace rowan {

/// How log bytes are made durable (rowan_log_sync_method).
enum class LogSyncMethod {
  kAuto,         ///< probe the disk at startup, log the result
  kFsync,        ///< buffered write, fsync
  kFdatasync,    ///< buffered write, fdatasync
  kDsync,        ///< O_DSYNC write, no separate sync
  kDirectDsync,  ///< O_DIRECT + O_DSYNC write
  kUring,        ///< io_uring: write and fdatasync linked in one submission
};
inline constexpr size_t kLogSyncMethods = 6;
const char* LogSyncMethodName(LogSyncMethod method);

/// rowan_flush_log_at_trx_commit, per session.
enum class Durability : uint32_t {
  kBackground = 0,  ///< at most about one second of commits is lost on mysqld or OS crash
  kDurable = 1,     ///< acknowledged = on disk
  kWrite = 2,       ///< survives a mysqld crash, not an OS crash
};

/// No group is larger than the buffer, and a search past the log's end looks this far.
inline constexpr SettingLimits<uint64_t> kLogBufferLimits{uint64_t{64} << 10, uint64_t{64} << 20};
inline constexpr SettingLimits<uint64_t> kLogCapacityLimits{uint64_t{1} << 20, uint64_t{1} << 40};

struct LogOptions {
  uint64_t capacity_bytes = uint64_t{256} << 20;  ///< sum of the live files
  uint64_t buffer_bytes = uint64_t{16} << 20;     ///< power of two
  LogSyncMethod sync_method = LogSyncMethod::kAuto;
};

}  // namespace rowan
