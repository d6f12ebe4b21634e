// SPDX-License-Identifier: GPL-2.0-only
// Untorn writes: what statx says that a file promises, and the flag that requests one. The
// constants are ours because the headers of older systems lack them. Thread-safe.
#pragma once

#include <cstdint>
#include <string>

#include "base/status.h"

namespace rowan {

/// RWF_ATOMIC of pwritev2, io_uring and libaio: the write is untorn or fails.
inline constexpr int kWriteAtomicFlag = 0x40;

/// Largest untorn write in bytes that the file at `path` supports; 0 = none, or the kernel cannot
/// tell.
Result<uint32_t> ProbeAtomicWriteUnitMax(const std::string& path);

}  // namespace rowan
