// SPDX-License-Identifier: GPL-2.0-only
// Direction: which way a scan goes through the keys of a tree. Thread safety: plain values.
#pragma once

#include <cstdint>

namespace rowan {

enum class Direction : uint8_t { kForward, kBackward };

[[nodiscard]] constexpr Direction ForwardIf(bool forward) {
  return forward ? Direction::kForward : Direction::kBackward;
}
[[nodiscard]] constexpr Direction Opposite(Direction direction) {
  return ForwardIf(direction == Direction::kBackward);
}

}  // namespace rowan
