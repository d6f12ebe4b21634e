// SPDX-License-Identifier: GPL-2.0-only
// PlainKey: the parts of a key that are NOT NULL, ascending and of fixed length, compiled into what
// to do with their bytes: each stands at a fixed place in the key, and is in the record as it is,
// or back to front with the sign inverted (key_part_codec.h). Most keys of real tables consist of
// nothing else. Constant after construction.
#pragma once

#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "plugin/codec/column_info.h"
#include "plugin/codec/key_part_codec.h"

namespace rowan {

class PlainKey {
 public:
  /// Not plain.
  PlainKey() = default;
  /// Of an index's parts, the first `declared` of which the user declared. Parts without a column,
  /// and those whose value cannot be restored, only take up their place.
  PlainKey(const std::vector<KeyPartCodec>& parts, size_t declared,
           const std::vector<ColumnInfo>& columns);

  /// False: nothing below may be used.
  [[nodiscard]] bool is_plain() const { return is_plain_; }
  /// Each part with a column holds the whole value.
  [[nodiscard]] bool is_whole() const { return is_plain_ && whole_; }
  [[nodiscard]] size_t bytes() const { return bytes_; }
  /// Of the first `declared` parts.
  [[nodiscard]] size_t declared_bytes() const { return declared_bytes_; }

  /// Puts the columns for which `is_wanted(field)` into a record. REQUIRES: is_plain, and
  /// key.size() >= bytes().
  template <typename IsWanted>
  void Decode(Bytes key, IsWanted is_wanted, unsigned char* record) const {
    for (const Part& part : parts_) {
      if (!is_wanted(part.field)) continue;
      Turn(part, key.data() + part.key_offset,
           reinterpret_cast<std::byte*>(record) + part.record_offset, part.length - 1);
    }
  }
  /// Writes the parts of a record's key which stand in its first `bytes`. REQUIRES: is_whole.
  void Encode(const unsigned char* record, size_t bytes, std::byte* key) const {
    for (const Part& part : parts_) {
      if (part.key_offset >= bytes) break;
      Turn(part, reinterpret_cast<const std::byte*>(record) + part.record_offset,
           key + part.key_offset, 0);
    }
  }
  /// Bytes of the parts at the front that `parts` names, a bit each. REQUIRES: is_whole.
  [[nodiscard]] size_t BytesOf(unsigned long parts) const {
    size_t bytes = 0;
    for (const Part& part : parts_) {
      if ((parts & 1) == 0) break;
      parts >>= 1;
      bytes += part.length;
    }
    return bytes;
  }
  /// Writes the parts which stand in the first `bytes` of the key from the server's key image.
  /// REQUIRES: is_whole.
  void EncodeImage(const unsigned char* image, size_t bytes, std::byte* key) const {
    for (const Part& part : parts_) {
      if (part.key_offset >= bytes) break;
      Turn(part, reinterpret_cast<const std::byte*>(image) + part.key_offset, key + part.key_offset,
           0);
    }
  }

 private:
  struct Part {
    uint32_t field = 0;
    uint32_t key_offset = 0;
    uint32_t record_offset = 0;
    uint32_t length = 0;
    bool reversed = false;
    std::byte sign{0};  ///< what the byte with the sign is combined with
  };

  /// Copies or reverses; the byte with the sign is at `sign_at` of the target.
  static void Turn(const Part& part, const std::byte* source, std::byte* target, size_t sign_at) {
    if (!part.reversed) {
      std::memcpy(target, source, part.length);
    } else if (part.length == sizeof(uint32_t)) {
      StoreLe<uint32_t>(target, LoadBe32(source));
    } else if (part.length == sizeof(uint64_t)) {
      StoreLe<uint64_t>(target, LoadBe64(source));
    } else {
      for (size_t i = 0; i < part.length; ++i) target[part.length - 1 - i] = source[i];
    }
    target[sign_at] ^= part.sign;
  }

  std::vector<Part> parts_;  ///< those whose value can be restored, in order
  size_t bytes_ = 0;
  size_t declared_bytes_ = 0;
  bool is_plain_ = false;
  bool whole_ = false;
};

}  // namespace rowan
