// SPDX-License-Identifier: GPL-2.0-only
// What the caller of Fix knows about the page.
#pragma once

#include <cstdint>

namespace rowan {

/// How likely the page is to be needed again, and what to do about damage.
enum class FixHint : uint8_t {
  kNormal,
  kScan,         ///< enters the pool with usage 0
  kSpeculative,  ///< page id came from an optimistic read: damage is returned but not logged,
                 ///< the caller validates its source and fixes it again, for the sentence, if it
                 ///< is real
  kSpeculativeScan,  ///< both
};

[[nodiscard]] constexpr bool IsScan(FixHint hint) {
  return hint == FixHint::kScan || hint == FixHint::kSpeculativeScan;
}
[[nodiscard]] constexpr bool IsSpeculative(FixHint hint) {
  return hint == FixHint::kSpeculative || hint == FixHint::kSpeculativeScan;
}

/// The same use of the page, from an optimistic read.
[[nodiscard]] constexpr FixHint Speculative(FixHint hint) {
  return IsScan(hint) ? FixHint::kSpeculativeScan : FixHint::kSpeculative;
}

}  // namespace rowan
