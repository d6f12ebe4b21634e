// SPDX-License-Identifier: GPL-2.0-only
// The memory that a buffer pool takes when all of it is in use, against what there is.
// Thread safety: all functions.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "io/machine_memory.h"

namespace rowan {

/// Descriptors of a full pool: frame headers, and the buckets and nodes of the page table.
[[nodiscard]] uint64_t DescriptorBytes(uint64_t pool_bytes, uint32_t page_size_bytes);
/// The largest pool that is not refused.
[[nodiscard]] uint64_t PoolBytesMax(uint32_t page_size_bytes, const MachineMemory& memory);
/// kInvalidArgument, with a sentence in the error log, for a pool that cannot work: its descriptors
/// alone would take much of the memory. Whether one that could work has its memory nobody knows
/// before it is full.
Status RefusePoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                              const MachineMemory& memory);
/// A sentence in the error log for a pool that could work and will not when it is full.
void WarnOfPoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                            const MachineMemory& memory);

}  // namespace rowan
