// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/plain_key.h"

#include "plugin/codec/table_layout.h"

namespace rowan {

PlainKey::PlainKey(const std::vector<KeyPartCodec>& parts, size_t declared,
                   const std::vector<ColumnInfo>& columns) {
  whole_ = true;
  for (size_t i = 0; i < parts.size(); ++i) {
    const KeyPartCodec& codec = parts[i];
    if (codec.nullable || codec.descending || codec.variable()) return;
    if (i == declared) declared_bytes_ = bytes_;
    if (codec.column != kNoColumn && !codec.reversible) whole_ = false;
    if (codec.column != kNoColumn && codec.reversible) {
      const ColumnInfo& column = columns[codec.column];
      if (codec.length != column.length || codec.length != codec.prefix_bytes) return;
      const auto from = static_cast<uint32_t>(bytes_);
      const bool is_signed = codec.encoding == KeyEncoding::kSigned;
      parts_.push_back(
          codec.encoding == KeyEncoding::kRaw
              ? FixedStep::OfKey(from, column.offset, codec.length)
              : FixedStep::OfReversedKey(from, column.offset, codec.length, is_signed));
    }
    bytes_ += codec.length;
  }
  if (declared >= parts.size()) declared_bytes_ = bytes_;
  is_plain_ = true;
}

}  // namespace rowan
