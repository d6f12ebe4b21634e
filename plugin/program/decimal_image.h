// SPDX-License-Identifier: GPL-2.0-only
// DECIMAL as the server stores it, in rows and keys -> the value times 10^scale. The image is a
// number in base 10^9, 4 bytes a digit, big-endian; the first and the last one may have fewer
// decimal digits and then fewer bytes. The first bit is inverted, and all bits if it is negative.
#pragma once

#include "plugin/program/image_loads.h"
#include "plugin/program/value_vector.h"

namespace rowan {

inline constexpr uint64_t kPowersOf10[] = {1,
                                           10,
                                           100,
                                           1000,
                                           10000,
                                           100000,
                                           1000000,
                                           10000000,
                                           100000000,
                                           1000000000,
                                           10000000000,
                                           100000000000,
                                           1000000000000,
                                           10000000000000,
                                           100000000000000,
                                           1000000000000000,
                                           10000000000000000,
                                           100000000000000000,
                                           1000000000000000000};

/// `exponent` <= kWideDigits.
[[nodiscard]] constexpr Wide PowerOf10(unsigned exponent) {
  constexpr unsigned kStep = 18;
  Wide power = 1;
  for (; exponent > kStep; exponent -= kStep)
    power *= Wide{static_cast<int64_t>(kPowersOf10[kStep])};
  return power * Wide{static_cast<int64_t>(kPowersOf10[exponent])};
}

/// Number: int64_t or Wide. kLead and kTail: bytes of an incomplete first and last digit.
template <typename Number, unsigned kLead, unsigned kTail>
struct DecimalOfImage {
  using Value = Number;
  uint32_t full = 0;        ///< complete digits between them
  uint32_t tail_power = 1;  ///< 10^(decimal digits of the last one)

  Number operator()(const std::byte* image) const {
    const uint64_t inverted = (static_cast<uint8_t>(*image) & 0x80) != 0 ? 0 : ~uint64_t{0};
    uint64_t first_bit = 0x80;
    Number value = 0;
    if constexpr (kLead != 0) {
      value = static_cast<Number>(Digit<kLead>(image, inverted, &first_bit));
      image += kLead;
    }
    for (uint32_t i = 0; i < full; ++i, image += 4) {
      value = value * 1000000000 + static_cast<Number>(Digit<4>(image, inverted, &first_bit));
    }
    if constexpr (kTail != 0) {
      value = value * static_cast<Number>(tail_power) +
              static_cast<Number>(Digit<kTail>(image, inverted, &first_bit));
    }
    return inverted == 0 ? value : -value;
  }

 private:
  template <unsigned kBytes>
  static int64_t Digit(const std::byte* image, uint64_t inverted, uint64_t* first_bit) {
    constexpr uint64_t kMask = (uint64_t{1} << (8 * kBytes)) - 1;
    const uint64_t digit = LoadBig<kBytes>(image) ^ (inverted & kMask);
    // Of the bytes of the first digit only; with `inverted` it comes out as 1 as well.
    const uint64_t flip = *first_bit << (8 * (kBytes - 1));
    *first_bit = 0;
    return static_cast<int64_t>(digit ^ flip);
  }
};

}  // namespace rowan
