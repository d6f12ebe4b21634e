// SPDX-License-Identifier: GPL-2.0-only
// Valid page sizes. Each instance has one, chosen when it is created.
#pragma once

#include <bit>
#include <cstdint>

namespace rowan {

inline constexpr uint32_t kPageSizeMin = 4096;
inline constexpr uint32_t kPageSizeMax = 65536;
inline constexpr uint32_t kPageSizeDefault = 16384;

/// The only check of page sizes.
[[nodiscard]] constexpr bool IsPageSize(uint32_t bytes) {
  return std::has_single_bit(bytes) && bytes >= kPageSizeMin && bytes <= kPageSizeMax;
}

}  // namespace rowan
