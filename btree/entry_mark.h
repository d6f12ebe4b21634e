// SPDX-License-Identifier: GPL-2.0-only
// The only thing that a tree knows about its values: an entry may be marked as deleted, and then
// only holds its place. Thread safety: pure functions.
#pragma once

#include <cstdint>

#include "base/bytes.h"

namespace rowan {

/// In the first byte of a value: the layer above regards the entry as deleted.
inline constexpr uint8_t kEntryMarked = 1;

[[nodiscard]] inline bool IsMarked(Bytes value) {
  return !value.empty() && (static_cast<uint8_t>(value[0]) & kEntryMarked) != 0;
}

}  // namespace rowan
