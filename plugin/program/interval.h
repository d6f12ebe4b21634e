// SPDX-License-Identifier: GPL-2.0-only
// Interval: comparisons of a number with constants as one test, whether it lies between two
// numbers. What the constant is, of another scale, sign or temporal type, is settled once.
// Thread safety: values.
#pragma once

#include <limits>

#include "plugin/program/constant.h"

namespace rowan {

enum class Comparison : uint8_t { kEqual, kLess, kLessEqual, kGreater, kGreaterEqual };

/// Of "constant op value" in place of "value op constant".
[[nodiscard]] constexpr Comparison Mirrored(Comparison comparison) {
  switch (comparison) {
    case Comparison::kLess: return Comparison::kGreater;
    case Comparison::kLessEqual: return Comparison::kGreaterEqual;
    case Comparison::kGreater: return Comparison::kLess;
    case Comparison::kGreaterEqual: return Comparison::kLessEqual;
    case Comparison::kEqual: break;
  }
  return comparison;
}

struct Interval {
  Wide low = std::numeric_limits<Wide>::min();
  Wide high = std::numeric_limits<Wide>::max();

  [[nodiscard]] bool empty() const { return low > high; }
  /// Leaves the numbers x with "x comparison constant", x being `type`'s representation of a value.
  /// REQUIRES: the constant is not NULL, and no kDouble or kBytes.
  void Narrow(Comparison comparison, const Constant& constant, const ValueType& type);
};

}  // namespace rowan
