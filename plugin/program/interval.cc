// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/program/interval.h"

#include <algorithm>

#include "plugin/program/decimal_image.h"

namespace rowan {
namespace {

/// Beyond all numbers of any kind, and not at the end of a Wide.
constexpr Wide kBeyond = PowerOf10(kWideDigits);

/// The greatest number of a type that is not greater than a constant.
struct Floor {
  Wide number = 0;
  bool is_exact = true;  ///< it equals the constant
};

Floor FloorOfScaled(Wide number, int scale, int wanted) {
  if (scale <= wanted) {
    Wide scaled = 0;
    const Wide power = PowerOf10(static_cast<unsigned>(wanted - scale));
    if (!__builtin_mul_overflow(number, power, &scaled) && scaled < kBeyond && scaled > -kBeyond) {
      return {scaled, true};
    }
    return {number < 0 ? -kBeyond : kBeyond, false};
  }
  const Wide power = PowerOf10(static_cast<unsigned>(scale - wanted));
  Wide floor = number / power;
  const bool is_exact = floor * power == number;
  if (!is_exact && number < 0) --floor;
  return {floor, is_exact};
}

/// The day of a packed DATETIME as DATE.
Floor DayOf(Wide packed) {
  if (packed < 0) return {-kBeyond, false};
  constexpr unsigned kTimeBits = 41;
  const auto day = static_cast<uint64_t>(packed >> kTimeBits);
  const uint64_t months = day >> 5;
  const uint64_t date = months / 13 << 9 | months % 13 << 5 | (day & 31);
  return {Wide{static_cast<int64_t>(date)}, (packed & ((Wide{1} << kTimeBits) - 1)) == 0};
}

Floor FloorOf(const Constant& constant, const ValueType& type) {
  if (type.kind == ValueKind::kDate && constant.kind() == ValueKind::kDatetime) {
    return DayOf(constant.number());
  }
  return FloorOfScaled(constant.number(), constant.scale(), type.scale);
}

}  // namespace

void Interval::Narrow(Comparison comparison, const Constant& constant, const ValueType& type) {
  const Floor floor = FloorOf(constant, type);
  const Wide above = floor.number + 1;
  switch (comparison) {
    case Comparison::kEqual:
      low = std::max(low, floor.is_exact ? floor.number : above);
      high = std::min(high, floor.number);
      break;
    case Comparison::kLess:
      high = std::min(high, floor.is_exact ? floor.number - 1 : floor.number);
      break;
    case Comparison::kLessEqual: high = std::min(high, floor.number); break;
    case Comparison::kGreater: low = std::max(low, above); break;
    case Comparison::kGreaterEqual:
      low = std::max(low, floor.is_exact ? floor.number : above);
      break;
  }
}

}  // namespace rowan
