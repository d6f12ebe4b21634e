// SPDX-License-Identifier: GPL-2.0-only
// FixedStep: puts a few bytes of a row or its key into a record. Those of a key may be reversed
// there, with the sign inverted (key_part_codec.h). Thread safety: plain values.
#pragma once

#include <cstdint>
#include <cstring>
#include <span>

#include "base/bytes.h"

namespace rowan {

struct FixedStep {
  enum class Kind : uint8_t {
    kRow1,
    kRow4,
    kRow8,
    kRow,
    kKey,
    // From here on reversed.
    kReversedKey4,
    kReversedKey8,
    kReversedKey,
  };
  Kind kind = Kind::kRow;
  uint8_t sign = 0;     ///< what the record's byte with the sign is combined with
  uint32_t from = 0;    ///< offset in the row or key
  uint32_t to = 0;      ///< offset in the record
  uint32_t length = 0;  ///< bytes

  [[nodiscard]] static FixedStep OfRow(uint32_t from, uint32_t to, uint32_t length) {
    const Kind kind = length == 1   ? Kind::kRow1
                      : length == 4 ? Kind::kRow4
                      : length == 8 ? Kind::kRow8
                                    : Kind::kRow;
    return {kind, 0, from, to, length};
  }
  [[nodiscard]] static FixedStep OfKey(uint32_t from, uint32_t to, uint32_t length) {
    return {Kind::kKey, 0, from, to, length};
  }
  [[nodiscard]] static FixedStep OfReversedKey(uint32_t from, uint32_t to, uint32_t length,
                                               bool is_signed) {
    const Kind kind = length == 4   ? Kind::kReversedKey4
                      : length == 8 ? Kind::kReversedKey8
                                    : Kind::kReversedKey;
    return {kind, static_cast<uint8_t>(is_signed ? 0x80 : 0), from, to, length};
  }
  [[nodiscard]] bool is_reversed() const { return kind >= Kind::kReversedKey4; }
};

/// Without a call, for which a loop around it would have to keep its place elsewhere.
inline void CopyInWords(const std::byte* from, uint32_t length, std::byte* to) {
  constexpr uint32_t kWord = sizeof(uint64_t);
  for (; length >= kWord; from += kWord, to += kWord, length -= kWord) {
    std::memcpy(to, from, kWord);
  }
  for (uint32_t i = 0; i < length; ++i) to[i] = from[i];
}

/// REQUIRES: row and key have all that the steps take from them.
inline void TakeFixed(std::span<const FixedStep> steps, const std::byte* row, const std::byte* key,
                      unsigned char* record) {
  using Kind = FixedStep::Kind;
  // Not a switch: the usual steps are few, and jumps through a table cost more than comparisons.
  for (const FixedStep& step : steps) {
    auto* const to = reinterpret_cast<std::byte*>(record) + step.to;
    if (step.kind == Kind::kRow4) {
      std::memcpy(to, row + step.from, 4);
    } else if (step.kind == Kind::kRow1) {
      *to = row[step.from];
    } else if (step.kind == Kind::kReversedKey4) {
      StoreLe(to, LoadBe32(key + step.from) ^ uint32_t{step.sign} << 24);
    } else if (step.kind == Kind::kRow8) {
      std::memcpy(to, row + step.from, 8);
    } else if (step.kind == Kind::kReversedKey8) {
      StoreLe(to, LoadBe64(key + step.from) ^ uint64_t{step.sign} << 56);
    } else if (step.kind == Kind::kReversedKey) {
      const uint32_t last = step.length - 1;
      for (uint32_t i = 0; i < step.length; ++i) to[last - i] = key[step.from + i];
      to[last] ^= std::byte{step.sign};
    } else {
      CopyInWords((step.kind == Kind::kRow ? row : key) + step.from, step.length, to);
    }
  }
}

}  // namespace rowan
