// SPDX-License-Identifier: GPL-2.0-only
// CRC-32C (Castagnoli), the checksum of every page, log group and control slot. Uses the SSE 4.2
// instruction in three interleaved streams where the processor has it, otherwise a table.
// Thread-safe.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace rowan {

/// Checksum of `bytes` continuing from `seed` (the result of an earlier call, or 0 to start).
[[nodiscard]] uint32_t Crc32c(Bytes bytes, uint32_t seed = 0);

/// The table version, whatever the processor offers. For tests.
[[nodiscard]] uint32_t Crc32cPortable(Bytes bytes, uint32_t seed = 0);

}  // namespace rowan
