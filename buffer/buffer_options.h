// SPDX-License-Identifier: GPL-2.0-only
// Settings of the buffer pool and their limits. Units in the names. Plain data.
#pragma once

#include <cstdint>

#include "base/page_size.h"
#include "base/setting_limits.h"
#include "base/status.h"
#include "io/file.h"
#include "io/machine_memory.h"
#include "io/write_batch.h"

namespace rowan {

/// rowan_doublewrite.
enum class DoublewriteMode { kOn, kDetectOnly, kAtomic, kOff };

/// A smaller pool could not hold the pages that one operation latches.
inline constexpr uint32_t kPoolPagesMin = 16;
/// The least is for pages of the usual size; a pool of smaller ones may have fewer bytes.
inline constexpr SettingLimits<uint64_t> kPoolBytesLimits{
    uint64_t{kPoolPagesMin} * kPageSizeDefault, uint64_t{1} << 46};
inline constexpr SettingLimits<uint32_t> kIoCapacityLimits{100, 10'000'000};
inline constexpr SettingLimits<uint32_t> kCleanersLimits{0, 64};

/// The machine's memory; see io/machine_memory.h.
using FindMemory = MachineMemory (*)();

struct BufferOptions {
  uint64_t pool_bytes = uint64_t{128} << 20;
  DoublewriteMode doublewrite = DoublewriteMode::kOn;
  SyncMethod data_sync_method = SyncMethod::kFdatasync;
  IoBackend io_backend = IoBackend::kAuto;
  uint32_t io_capacity_pages_per_second = 10000;
  uint32_t cleaners = 0;         ///< 0: from the number of processors and the size of the pool
  uint32_t session_writers = 0;  ///< for sessions that find no clean page; 0: from the pool's size
  /// An idle pool is written within twice this time.
  uint64_t idle_round_micros = 30'000'000;
  FindMemory memory = FindMachineMemory;  ///< tests use another one
};

/// Checks for pages of this size. kInvalidArgument: a setting is out of its limits.
Status CheckBufferOptions(const BufferOptions& options, uint32_t page_size_bytes);

}  // namespace rowan
