// SPDX-License-Identifier: GPL-2.0-only
// What two values end with alike: changes are logged without it. Thread safety: pure functions.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"

namespace rowan {

/// Length of the longest common suffix of at most `limit` bytes. REQUIRES: both are as long.
[[nodiscard]] inline size_t CommonSuffix(Bytes left, Bytes right, size_t limit) {
  const std::byte* left_end = left.data() + left.size();
  const std::byte* right_end = right.data() + right.size();
  size_t same = 0;
  for (; same + 8 <= limit; same += 8) {
    const uint64_t difference =
        LoadLe<uint64_t>(left_end - same - 8) ^ LoadLe<uint64_t>(right_end - same - 8);
    if (difference != 0) return same + static_cast<size_t>(std::countl_zero(difference)) / 8;
  }
  while (same < limit && *(left_end - same - 1) == *(right_end - same - 1)) ++same;
  return same;
}

}  // namespace rowan
