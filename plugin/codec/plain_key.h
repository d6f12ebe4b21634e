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
#include "plugin/codec/fixed_step.h"
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

  /// Puts its columns into a record. REQUIRES: is_plain, and key.size() >= bytes().
  void Decode(Bytes key, unsigned char* record) const {
    TakeFixed(parts_, nullptr, key.data(), record);
  }
  /// What that does, in order. REQUIRES: is_plain.
  [[nodiscard]] const std::vector<FixedStep>& parts() const { return parts_; }
  /// Writes the parts of a record's key which stand in its first `bytes`. REQUIRES: is_whole.
  void Encode(const unsigned char* record, size_t bytes, std::byte* key) const {
    for (const FixedStep& part : parts_) {
      if (part.from >= bytes) break;
      PutInKey(part, reinterpret_cast<const std::byte*>(record) + part.to, key);
    }
  }
  /// Bytes of the parts at the front that `parts` names, a bit each. REQUIRES: is_whole.
  [[nodiscard]] size_t BytesOf(unsigned long parts) const {
    size_t bytes = 0;
    for (const FixedStep& part : parts_) {
      if ((parts & 1) == 0) break;
      parts >>= 1;
      bytes += part.length;
    }
    return bytes;
  }
  /// Writes the parts which stand in the first `bytes` of the key from the server's key image.
  /// REQUIRES: is_whole.
  void EncodeImage(const unsigned char* image, size_t bytes, std::byte* key) const {
    for (const FixedStep& part : parts_) {
      if (part.from >= bytes) break;
      PutInKey(part, reinterpret_cast<const std::byte*>(image) + part.from, key);
    }
  }

 private:
  /// The other way round.
  static void PutInKey(const FixedStep& part, const std::byte* source, std::byte* key) {
    std::byte* const target = key + part.from;
    if (!part.is_reversed()) {
      std::memcpy(target, source, part.length);
    } else if (part.length == sizeof(uint32_t)) {
      StoreLe<uint32_t>(target, LoadBe32(source));
    } else if (part.length == sizeof(uint64_t)) {
      StoreLe<uint64_t>(target, LoadBe64(source));
    } else {
      for (size_t i = 0; i < part.length; ++i) target[part.length - 1 - i] = source[i];
    }
    target[0] ^= std::byte{part.sign};
  }

  std::vector<FixedStep> parts_;  ///< those whose value can be restored, in order
  size_t bytes_ = 0;
  size_t declared_bytes_ = 0;
  bool is_plain_ = false;
  bool whole_ = false;
};

}  // namespace rowan
