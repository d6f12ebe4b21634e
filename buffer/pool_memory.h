// SPDX-License-Identifier: GPL-2.0-only
// The memory of a fully used buffer pool, compared with what the machine has.
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
/// alone would take much of the memory. Whether a workable one has its memory is unknown until it
/// is full.
Status RefusePoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                              const MachineMemory& memory);
/// Warns in the error log of a pool that could work, but not once it is full.
void WarnOfPoolBeyondMemory(uint64_t pool_bytes, uint32_t page_size_bytes,
                            const MachineMemory& memory);

}  // namespace rowan
