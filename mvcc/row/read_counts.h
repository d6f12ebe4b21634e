// SPDX-License-Identifier: GPL-2.0-only
// ReadCounts: what a scan examined, and what it copied in vain.
// Thread safety: plain values.
#pragma once

#include <cstdint>

namespace rowan {

struct ReadCounts {
  uint64_t examined_entries = 0;
  uint64_t examined_bytes = 0;  ///< of keys and values copied from pages
  uint64_t unused_entries = 0;  ///< copied, never asked for
  uint64_t unused_bytes = 0;

  ReadCounts& operator+=(const ReadCounts& other) {
    examined_entries += other.examined_entries;
    examined_bytes += other.examined_bytes;
    unused_entries += other.unused_entries;
    unused_bytes += other.unused_bytes;
    return *this;
  }
};

}  // namespace rowan
