// SPDX-License-Identifier: GPL-2.0-only
// One part of a key <-> bytes that sort with memcmp (docs/formats/keys.md).
//
//   NULL byte      only for nullable parts: 0 = NULL (nothing follows), 1 = a value follows
//   kSigned        big-endian, sign bit flipped
//   kUnsigned      big-endian
//   kOrdered       as is
//   kFloat/kDouble big-endian; negative: all bits inverted, else sign bit set; -0 becomes 0
//   kFixedBinary   as is
//   byte strings   00 -> 00 FF, end 00 00
//   NO PAD text    weights of the collation, escaped and ended like byte strings
//   PAD SPACE text weights in units of the collation's unit size W. Trailing space units are cut;
//                  each space unit inside is followed by a marker: 0 if the next other unit is
//                  smaller than a space, 2 if larger; the end is a space unit and marker 1. So an
//                  ended string compares as if followed by endless spaces.
// DESC: every byte of the part, NULL byte included, is inverted.
// Thread safety: const.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "plugin/codec/column_info.h"

namespace rowan {

enum class KeyEncoding : uint8_t {
  kSigned,
  kUnsigned,
  kRaw,  ///< fixed length, as is
  kFloat,
  kDouble,
  kEscaped,  ///< byte strings
  kNoPadText,
  kPadText,
};

struct KeyPartCodec {
  KeyEncoding encoding = KeyEncoding::kRaw;
  uint32_t column = 0;        ///< index into the codec's columns
  uint32_t length = 0;        ///< encoded bytes of a fixed-length value
  uint32_t prefix_bytes = 0;  ///< key image length: most bytes of the column that take part
  bool nullable = false;
  bool descending = false;
  bool whole_column = true;      ///< false: a prefix of the column
  bool trims_spaces = false;     ///< of texts that compare without their trailing spaces
  bool prefix_of_char = false;   ///< spaces at the end of the prefix are padding, as in key images
  bool reversible = true;        ///< the value can be restored from the encoded bytes
  uint8_t space_unit_bytes = 0;  ///< kPadText: W
  std::array<std::byte, 4> space_unit{};
  const CHARSET_INFO* charset = nullptr;

  [[nodiscard]] bool variable() const { return encoding >= KeyEncoding::kEscaped; }
  [[nodiscard]] std::byte mask() const { return descending ? std::byte{0xFF} : std::byte{0}; }

  /// Appends the part. `value` = the column's bytes as ColumnInfo::Value gives them (Encode cuts
  /// them to the prefix); ignored when is_null.
  void Encode(Bytes value, bool is_null, std::vector<std::byte>* key) const;
  /// Bytes the part takes at the start of `key`; 0 when malformed.
  [[nodiscard]] size_t Size(Bytes key) const {
    if (nullable || variable()) return SizeInside(key);
    return length > key.size() ? 0 : length;
  }
  /// Whether the part at the start of `key` is NULL.
  [[nodiscard]] bool IsNull(Bytes key) const {
    return nullable && !key.empty() && (key[0] ^ mask()) == std::byte{0};
  }
  /// Writes the value back into a record. REQUIRES: reversible. False when malformed.
  bool Decode(Bytes part, const ColumnInfo& target_column, unsigned char* record) const;
  /// The whole number in an encoded part of an integer or floating-point column; 0 if NULL or
  /// negative. False when malformed or of another kind.
  bool DecodeNumber(Bytes part, uint64_t* number) const;

 private:
  [[nodiscard]] size_t SizeInside(Bytes key) const;
  void EncodeValue(Bytes value, std::vector<std::byte>* key) const;
  [[nodiscard]] Bytes CutToPrefix(Bytes value) const;
};

/// Chooses the encoding. False with a sentence when the collation cannot be indexed yet.
bool MakeKeyPart(const ColumnInfo& column, uint32_t key_part_length, bool descending,
                 KeyPartCodec* part, std::string* refusal);

}  // namespace rowan
