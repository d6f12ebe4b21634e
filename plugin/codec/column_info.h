// SPDX-License-Identifier: GPL-2.0-only
// ColumnInfo: one column of a server table as flat numbers, so that row and key conversion work on
// record bytes without virtual calls. Constant after construction.
#pragma once

#include <cstdint>
#include <cstring>
#include <string>

#include "base/bytes.h"

class Field;
struct CHARSET_INFO;

namespace rowan {

enum class ColumnKind : uint8_t {
  kSigned,    ///< little-endian two's complement, 1-8 bytes
  kUnsigned,  ///< little-endian, 1-8 bytes (also YEAR, ENUM, SET, DATE)
  kOrdered,   ///< raw bytes already in memcmp order: DECIMAL, DATETIME, TIMESTAMP, TIME, BIT
  kFloat,
  kDouble,
  kFixedBinary,  ///< BINARY(n)
  kChar,         ///< CHAR(n): space padded in the record, stored without padding
  kVarchar,      ///< VARCHAR, VARBINARY: length prefix in the record
  kBlob,         ///< TEXT, BLOB, JSON, GEOMETRY, VECTOR: length and pointer in the record
};

struct ColumnInfo {
  uint32_t field = 0;  ///< position in the server's table
  ColumnKind kind = ColumnKind::kOrdered;
  uint32_t offset = 0;  ///< of the value in the record
  uint32_t null_offset = 0;
  uint8_t null_bit = 0;       ///< 0: NOT NULL
  uint32_t length = 0;        ///< bytes in the record; for kVarchar and kBlob the most data bytes
  uint32_t length_bytes = 0;  ///< kVarchar 1-2, kBlob 1-4
  const CHARSET_INFO* charset = nullptr;
  uint32_t null_image_offset = 0;  ///< in TableLayout::null_images, when nullable
  uint32_t null_image_bytes = 0;
  bool in_clustered_key = false;  ///< the clustered key restores the value: not in the row
  bool is_virtual = false;        ///< a generated column computed when it is read
  bool pads_bytes = false;        ///< kChar padded with single spaces

  [[nodiscard]] bool variable() const { return kind >= ColumnKind::kChar; }
  [[nodiscard]] bool nullable() const { return null_bit != 0; }
  [[nodiscard]] bool in_row() const { return !in_clustered_key && !is_virtual; }
  [[nodiscard]] bool IsNull(const unsigned char* record) const {
    return null_bit != 0 && (record[null_offset] & null_bit) != 0;
  }
  /// The value's bytes in a record; CHAR without its padding. REQUIRES: not NULL.
  [[nodiscard]] Bytes Value(const unsigned char* record) const;
  /// Stores a value in a record. kBlob keeps a pointer to `value`. False when it does not fit.
  bool Store(Bytes value, unsigned char* record) const;
};

/// Fills the `length` bytes of a column with single spaces behind the first `size`, which may be
/// overwritten, too: its last bytes at once, where that is enough.
inline void PadWithSpaces(unsigned char* column, size_t size, size_t length) {
  constexpr size_t kAtOnce = 16;
  constexpr uint64_t kSpaces = 0x2020202020202020;
  if (length >= kAtOnce && length - size <= kAtOnce) {
    std::memcpy(column + length - kAtOnce, &kSpaces, sizeof(kSpaces));
    std::memcpy(column + length - sizeof(kSpaces), &kSpaces, sizeof(kSpaces));
  } else {
    std::memset(column + size, ' ', length - size);
  }
}

/// False with a sentence in *refusal when Rowan does not support the column.
bool DescribeColumn(const Field* field, const unsigned char* record0, ColumnInfo* column,
                    std::string* refusal);

/// The form of a value of an array column (CAST ... AS ... ARRAY) in the field to which the server
/// converts it, at offset 0.
bool DescribeElement(Field* array, const ColumnInfo& array_column, ColumnInfo* element,
                     std::string* refusal);

/// Length of `text` without trailing spaces.
size_t LengthWithoutPadding(Bytes text);
/// `text` without its trailing spaces, which can have several bytes each.
Bytes WithoutPadding(const CHARSET_INFO* charset, Bytes text);

}  // namespace rowan
