// SPDX-License-Identifier: GPL-2.0-only
// Loads: a stored image -> the number that a ValueVector has. Images are those of rows (the
// server's record format) or of keys (docs/formats/keys.md); some are the same in both.
// Each reads exactly the bytes of its image.
#pragma once

#include <bit>
#include <cstdint>

#include "base/bytes.h"

namespace rowan {

template <unsigned kBytes>
[[nodiscard]] inline uint64_t LoadLittle(const std::byte* image) {
  uint64_t value = 0;
  std::memcpy(&value, image, kBytes);
  return value;
}

template <unsigned kBytes>
[[nodiscard]] inline uint64_t LoadBig(const std::byte* image) {
  if constexpr (kBytes == 0) {
    return 0;
  } else if constexpr (kBytes == 1) {
    return static_cast<uint64_t>(image[0]);
  } else if constexpr (kBytes == 2) {
    return __builtin_bswap16(LoadLe<uint16_t>(image));
  } else if constexpr (kBytes < 4) {
    return LoadBig<2>(image) << 8 | LoadBig<1>(image + 2);
  } else if constexpr (kBytes == 4) {
    return LoadBe32(image);
  } else if constexpr (kBytes < 8) {
    // The two halves overlap in bits that are the same.
    return LoadBig<4>(image) << 8 * (kBytes - 4) | LoadBig<4>(image + kBytes - 4);
  } else {
    return LoadBe64(image);
  }
}

template <unsigned kBytes>
struct SignedOfRow {
  using Value = int64_t;
  int64_t operator()(const std::byte* image) const {
    constexpr unsigned kShift = 64 - 8 * kBytes;
    return static_cast<int64_t>(LoadLittle<kBytes>(image) << kShift) >> kShift;
  }
};
template <unsigned kBytes>
struct SignedOfKey {
  using Value = int64_t;
  int64_t operator()(const std::byte* image) const {
    return static_cast<int64_t>(LoadBig<kBytes>(image) - (uint64_t{1} << (8 * kBytes - 1)));
  }
};
template <unsigned kBytes>
struct UnsignedOfRow {
  using Value = uint64_t;
  uint64_t operator()(const std::byte* image) const { return LoadLittle<kBytes>(image); }
};
template <unsigned kBytes>
struct UnsignedOfKey {
  using Value = uint64_t;
  uint64_t operator()(const std::byte* image) const { return LoadBig<kBytes>(image); }
};

/// In rows and keys.
struct YearOfImage {
  using Value = uint64_t;
  uint64_t operator()(const std::byte* image) const {
    const auto years = static_cast<uint64_t>(*image);
    return years == 0 ? 0 : years + 1900;
  }
};

struct FloatOfRow {
  using Value = double;
  double operator()(const std::byte* image) const { return double{LoadLe<float>(image)}; }
};
struct DoubleOfRow {
  using Value = double;
  double operator()(const std::byte* image) const { return LoadLe<double>(image); }
};
struct FloatOfKey {
  using Value = double;
  double operator()(const std::byte* image) const {
    const uint32_t word = LoadBe32(image);
    const uint32_t bits = (word >> 31) != 0 ? word & 0x7FFFFFFFU : ~word;
    return double{std::bit_cast<float>(bits)};
  }
};
struct DoubleOfKey {
  using Value = double;
  double operator()(const std::byte* image) const {
    const uint64_t word = LoadBe64(image);
    return std::bit_cast<double>((word >> 63) != 0 ? word & ~(uint64_t{1} << 63) : ~word);
  }
};

/// DATETIME(kFraction bytes of fraction) in rows and keys, packed as
/// my_datetime_packed_from_binary does. No year is before 0.
template <unsigned kFraction>
struct DatetimeOfImage {
  using Value = int64_t;
  static constexpr uint64_t kUnit = kFraction == 1 ? 10000 : kFraction == 2 ? 100 : 1;
  int64_t operator()(const std::byte* image) const {
    const uint64_t whole = LoadBig<5>(image) - 0x8000000000U;
    return static_cast<int64_t>((whole << 24) + LoadBig<kFraction>(image + 5) * kUnit);
  }
};

/// TIME(kFraction bytes of fraction) in rows and keys, as the server's Time_val has it: negative
/// values are stored as the two's complement of whole and fraction, and held as the ones'.
template <unsigned kFraction>
struct TimeOfImage {
  using Value = int64_t;
  static constexpr uint64_t kUnit = kFraction == 1 ? 10000 : kFraction == 2 ? 100 : 1;
  int64_t operator()(const std::byte* image) const {
    const uint64_t whole = LoadBig<3>(image) << 24;
    const uint64_t negative = whole >> 47 ^ 1;
    uint64_t fraction = 0;
    if constexpr (kFraction != 0) {
      fraction = LoadBig<kFraction>(image + 3);
      if (negative != 0 && fraction != 0) [[unlikely]] {
        constexpr uint64_t kRange = uint64_t{1} << (8 * kFraction);
        fraction = (uint64_t{1} << 24) - (kRange - fraction) * kUnit;
      } else {
        fraction *= kUnit;
      }
    }
    return static_cast<int64_t>((whole | fraction) - negative);
  }
};

}  // namespace rowan
