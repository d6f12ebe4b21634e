// SPDX-License-Identifier: GPL-2.0-only
// BuildLimits: limits for building indexes or a table.
#pragma once

#include <cstddef>
#include <cstdint>

namespace rowan {

struct BuildLimits {
  size_t sort_memory_bytes = 0;             ///< shared by the indexes and the threads
  uint64_t changes_bytes_max = UINT64_MAX;  ///< of the keys of rows changed during the build
  uint32_t threads = 1;                     ///< at once, the caller's included
  /// Of the memory, for each thread and index: with less, the sorted runs are so many that merging
  /// them takes more memory than sorting. Then fewer threads sort.
  size_t lane_bytes_min = size_t{2} << 20;
};

}  // namespace rowan
