// SPDX-License-Identifier: GPL-2.0-only
// The crc32 instruction has a latency of three cycles and a throughput of one, so three streams run
// in parallel. Their results are joined by multiplying with x^(8n) modulo the polynomial, which is
// linear and therefore four table look-ups per stream.
#include "base/crc32c.h"

#include <array>

#if defined(__x86_64__)
#include <nmmintrin.h>
#endif

namespace rowan {
namespace {

constexpr uint32_t kPolynomial = 0x82F63B78;  // Castagnoli, bit-reversed

constexpr uint32_t AdvanceByte(uint32_t crc) {
  for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1) ^ ((crc & 1) != 0 ? kPolynomial : 0);
  return crc;
}

using ByteTable = std::array<uint32_t, 256>;

constexpr ByteTable MakeByteTable() {
  ByteTable table{};
  for (uint32_t byte = 0; byte < 256; ++byte) table[byte] = AdvanceByte(byte);
  return table;
}
constexpr ByteTable kByteTable = MakeByteTable();

uint32_t Crc32cTable(uint32_t crc, const std::byte* data, size_t size_bytes) {
  for (size_t i = 0; i < size_bytes; ++i) {
    crc = (crc >> 8) ^ kByteTable[(crc ^ static_cast<uint32_t>(data[i])) & 0xFF];
  }
  return crc;
}

#if defined(__x86_64__)

/// Stream lengths: 3 x 2720 twice covers a 16 KiB page up to 64 bytes, 3 x 336 four times a 4 KiB
/// page, so that little is left for the single stream.
constexpr size_t kLongBytes = 2720;
constexpr size_t kShortBytes = 336;

/// What a register becomes after `n` zero bytes, as four tables, one for each of its bytes.
using ShiftTable = std::array<ByteTable, 4>;

constexpr ShiftTable MakeShiftTable(size_t zero_bytes) {
  // Linear map of each single bit, then XOR sums of them.
  std::array<uint32_t, 32> bit_image{};
  for (uint32_t bit = 0; bit < 32; ++bit) {
    uint32_t crc = uint32_t{1} << bit;
    for (size_t i = 0; i < zero_bytes; ++i) crc = (crc >> 8) ^ kByteTable[crc & 0xFF];
    bit_image[bit] = crc;
  }
  ShiftTable table{};
  for (uint32_t part = 0; part < 4; ++part) {
    for (uint32_t byte = 0; byte < 256; ++byte) {
      uint32_t sum = 0;
      for (uint32_t bit = 0; bit < 8; ++bit) {
        if ((byte >> bit & 1) != 0) sum ^= bit_image[part * 8 + bit];
      }
      table[part][byte] = sum;
    }
  }
  return table;
}
constexpr ShiftTable kLongShift = MakeShiftTable(kLongBytes);
constexpr ShiftTable kShortShift = MakeShiftTable(kShortBytes);

inline uint32_t Shift(const ShiftTable& table, uint32_t crc) {
  return table[0][crc & 0xFF] ^ table[1][crc >> 8 & 0xFF] ^ table[2][crc >> 16 & 0xFF] ^
         table[3][crc >> 24];
}

/// Consumes 3 x kStreamBytes at `data`.
template <size_t kStreamBytes>
__attribute__((target("sse4.2"))) inline uint32_t ThreeStreams(const ShiftTable& table,
                                                               uint32_t crc,
                                                               const std::byte* data) {
  static_assert(kStreamBytes % 8 == 0);
  uint64_t first = crc;
  uint64_t second = 0;
  uint64_t third = 0;
  for (size_t i = 0; i < kStreamBytes; i += 8) {
    first = _mm_crc32_u64(first, LoadLe<uint64_t>(data + i));
    second = _mm_crc32_u64(second, LoadLe<uint64_t>(data + kStreamBytes + i));
    third = _mm_crc32_u64(third, LoadLe<uint64_t>(data + 2 * kStreamBytes + i));
  }
  const uint32_t joined =
      Shift(table, static_cast<uint32_t>(first)) ^ static_cast<uint32_t>(second);
  return Shift(table, joined) ^ static_cast<uint32_t>(third);
}

__attribute__((target("sse4.2"))) uint32_t Crc32cSse42(uint32_t crc, const std::byte* data,
                                                       size_t size_bytes) {
  while (size_bytes >= 3 * kLongBytes) {
    crc = ThreeStreams<kLongBytes>(kLongShift, crc, data);
    data += 3 * kLongBytes;
    size_bytes -= 3 * kLongBytes;
  }
  while (size_bytes >= 3 * kShortBytes) {
    crc = ThreeStreams<kShortBytes>(kShortShift, crc, data);
    data += 3 * kShortBytes;
    size_bytes -= 3 * kShortBytes;
  }
  uint64_t wide = crc;
  for (; size_bytes >= 32; size_bytes -= 32, data += 32) {
    wide = _mm_crc32_u64(wide, LoadLe<uint64_t>(data));
    wide = _mm_crc32_u64(wide, LoadLe<uint64_t>(data + 8));
    wide = _mm_crc32_u64(wide, LoadLe<uint64_t>(data + 16));
    wide = _mm_crc32_u64(wide, LoadLe<uint64_t>(data + 24));
  }
  for (; size_bytes >= 8; size_bytes -= 8, data += 8) {
    wide = _mm_crc32_u64(wide, LoadLe<uint64_t>(data));
  }
  crc = static_cast<uint32_t>(wide);
  for (; size_bytes > 0; --size_bytes, ++data) {
    crc = _mm_crc32_u8(crc, static_cast<uint8_t>(*data));
  }
  return crc;
}

#endif  // __x86_64__

using Implementation = uint32_t (*)(uint32_t, const std::byte*, size_t);

Implementation Choose() {
#if defined(__x86_64__)
  if (__builtin_cpu_supports("sse4.2")) return &Crc32cSse42;
#endif
  return &Crc32cTable;
}

}  // namespace

uint32_t Crc32c(Bytes bytes, uint32_t seed) {
  static const Implementation implementation = Choose();
  return ~implementation(~seed, bytes.data(), bytes.size());
}

uint32_t Crc32cPortable(Bytes bytes, uint32_t seed) {
  return ~Crc32cTable(~seed, bytes.data(), bytes.size());
}

}  // namespace rowan
