// SPDX-License-Identifier: GPL-2.0-only
// Byte spans and explicit-endian access. Disk structures are little-endian; comparable keys are
// big-endian. All loads and stores are unaligned-safe. Thread safety: that of the memory they
// touch.
#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string_view>

namespace rowan {

using Bytes = std::span<const std::byte>;
using MutableBytes = std::span<std::byte>;

static_assert(std::endian::native == std::endian::little, "big-endian hosts are not supported");

template <typename T>
[[nodiscard]] inline T LoadLe(const std::byte* source) {
  T value;
  std::memcpy(&value, source, sizeof(T));
  return value;
}

template <typename T>
inline void StoreLe(std::byte* target, T value) {
  std::memcpy(target, &value, sizeof(T));
}

[[nodiscard]] inline uint64_t LoadLe48(const std::byte* source) {
  uint64_t value = 0;
  std::memcpy(&value, source, 6);
  return value;
}

inline void StoreLe48(std::byte* target, uint64_t value) { std::memcpy(target, &value, 6); }

[[nodiscard]] inline uint32_t LoadBe32(const std::byte* source) {
  return __builtin_bswap32(LoadLe<uint32_t>(source));
}
inline void StoreBe32(std::byte* target, uint32_t value) {
  StoreLe<uint32_t>(target, __builtin_bswap32(value));
}
[[nodiscard]] inline uint64_t LoadBe64(const std::byte* source) {
  return __builtin_bswap64(LoadLe<uint64_t>(source));
}
inline void StoreBe64(std::byte* target, uint64_t value) {
  StoreLe<uint64_t>(target, __builtin_bswap64(value));
}

[[nodiscard]] inline Bytes AsBytes(std::string_view text) {
  return {reinterpret_cast<const std::byte*>(text.data()), text.size()};
}
[[nodiscard]] inline std::string_view AsText(Bytes bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// memcmp order, shorter first on a tie: the order of all keys. Negative, zero or positive.
[[nodiscard]] inline int CompareBytes(Bytes left, Bytes right) {
  const size_t common = left.size() < right.size() ? left.size() : right.size();
  const int order = common == 0 ? 0 : std::memcmp(left.data(), right.data(), common);
  if (order != 0) return order;
  return left.size() < right.size() ? -1 : (left.size() > right.size() ? 1 : 0);
}

[[nodiscard]] inline bool EqualBytes(Bytes left, Bytes right) {
  return left.size() == right.size() &&
         (left.empty() || std::memcmp(left.data(), right.data(), left.size()) == 0);
}

[[nodiscard]] inline bool IsAllZero(Bytes bytes) {
  return std::all_of(bytes.begin(), bytes.end(),
                     [](std::byte byte) { return byte == std::byte{0}; });
}

/// LEB128 variable-length integers, at most 10 bytes for 64 bits.
inline constexpr size_t kVarintBytesMax = 10;

/// Writes `value` at `target` (room for kVarintBytesMax) and returns the first byte after it.
inline std::byte* PutVarint(std::byte* target, uint64_t value) {
  while (value >= 0x80) {
    *target++ = static_cast<std::byte>(value | 0x80);
    value >>= 7;
  }
  *target++ = static_cast<std::byte>(value);
  return target;
}

/// Reads a varint from [source, end); returns the byte after it, or nullptr if it is cut off or
/// longer than 64 bits. `value` is untouched on failure.
[[nodiscard]] inline const std::byte* GetVarint(const std::byte* source, const std::byte* end,
                                                uint64_t* value) {
  uint64_t result = 0;
  for (unsigned shift = 0; shift < 64 && source < end; shift += 7) {
    const auto byte = static_cast<uint8_t>(*source++);
    if (shift == 63 && byte > 1) return nullptr;
    result |= uint64_t{byte & 0x7Fu} << shift;
    if ((byte & 0x80u) == 0) {
      *value = result;
      return source;
    }
  }
  return nullptr;
}

[[nodiscard]] inline size_t VarintSize(uint64_t value) {
  return 1 + static_cast<size_t>((63 - std::countl_zero(value | 1)) / 7);
}

}  // namespace rowan
