// SPDX-License-Identifier: GPL-2.0-only
// Reads the variable part of a stored row (docs/formats/rows.md), whichever columns it has.
// Thread safety: one thread at a time.
#pragma once

#include "base/bytes.h"
#include "base/status.h"
#include "engine/row_codec.h"
#include "plugin/codec/row_placement.h"
#include "plugin/codec/table_layout.h"

namespace rowan {

/// In the first byte of a row.
inline constexpr std::byte kSharedBlobBit{1};

[[nodiscard]] inline bool HasSharedBlob(Bytes row) {
  return (row[0] & kSharedBlobBit) != std::byte{0};
}
[[nodiscard]] inline size_t BytesBeforeVariable(const RowShape& shape) {
  return 1 + size_t{shape.null_bytes} + shape.fixed_bytes;
}
/// Where the reference of the shared blob is, if there is one.
[[nodiscard]] inline const std::byte* AfterFixed(const RowShape& shape, Bytes row) {
  return row.data() + BytesBeforeVariable(shape);
}

/// Steps through the values.
class VariableReader {
 public:
  using Place = PlacedValue::Place;

  VariableReader(const RowShape& shape, Bytes row)
      : position_(AfterFixed(shape, row) + (HasSharedBlob(row) ? kBlobRefBytes : 0)),
        end_(row.data() + row.size()),
        shares_(HasSharedBlob(row)) {}
  /// Of a row without a shared blob, its variable part.
  explicit VariableReader(Bytes variable)
      : position_(variable.data()), end_(position_ + variable.size()), shares_(false) {}

  /// Cheap path for the usual value, in the row and shorter than 8192 bytes. False: call Next.
  bool TryNextShort(Bytes* value) {
    if (end_ - position_ < 2) return false;
    const std::byte* next = position_ + 1;
    auto header = static_cast<size_t>(position_[0]);
    if ((header & 0x80) != 0) {
      const auto high = static_cast<size_t>(*next++);
      if ((high & 0x80) != 0) return false;
      header = (header & 0x7F) | high << 7;
    }
    if ((header & 1) != 0 || (header >> 1) > static_cast<size_t>(end_ - next)) return false;
    *value = {next, header >> 1};
    position_ = next + (header >> 1);
    return true;
  }

  /// `*value`: the bytes, the reference, or nothing, as `*place` says.
  bool Next(Bytes* value, Place* place) {
    uint64_t header = 0;
    const std::byte* next = GetVarint(position_, end_, &header);
    if (next == nullptr || (header >> 1) > static_cast<uint64_t>(end_ - next)) return false;
    *value = {next, header >> 1};
    position_ = next + (header >> 1);
    *place = Place::kInRow;
    if ((header & 1) == 0) return true;
    *place = value->empty() ? Place::kSharedBlob : Place::kOwnBlob;
    return value->empty() ? shares_ : CanBeReference(value->size());
  }

 private:
  const std::byte* position_;
  const std::byte* const end_;
  const bool shares_;
};

/// The values in a row's shared blob, which is read when the first of them is needed.
class SharedBlob {
 public:
  SharedBlob(const RowShape& shape, Bytes row, RowCodec::BlobReader* blobs)
      : reference_(AfterFixed(shape, row)), blobs_(blobs) {}

  /// The row's next value is in the blob and is not needed.
  void Skip() { ++skipped_; }
  /// Returns it. kCorrupt, and read errors.
  Status Next(Bytes* value);

 private:
  const std::byte* const reference_;
  RowCodec::BlobReader* const blobs_;
  const std::byte* position_ = nullptr;
  const std::byte* end_ = nullptr;
  uint32_t skipped_ = 0;
};

/// What a row has in place of a value.
struct ValuePlace {
  PlacedValue::Place place = PlacedValue::Place::kInRow;
  uint32_t column = kNoColumn;  ///< kNoColumn: it was dropped
};
/// The value of one column, wherever it is stored; `*value` is what the row has.
Status FetchValue(const ValuePlace& at, SharedBlob* shared, RowCodec::BlobReader* blobs,
                  Bytes* value);

}  // namespace rowan
