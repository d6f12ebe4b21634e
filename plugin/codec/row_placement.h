// SPDX-License-Identifier: GPL-2.0-only
// Which variable values of a row stay in it and which move off the page: into a blob of their own
// or into a shared one (docs/formats/rows.md). Thread safety: pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include "base/bytes.h"
#include "engine/row_codec.h"

namespace rowan {

struct PlacedValue {
  enum class Place : uint8_t { kInRow, kOwnBlob, kSharedBlob };

  uint32_t column = 0;
  Bytes value;
  Place place = Place::kInRow;
  OffPageValue stored{};  ///< kOwnBlob
};

/// Bytes that a value takes in the row, and those left there when it has moved.
[[nodiscard]] inline size_t InRowBytes(size_t value_bytes) {
  return VarintSize(uint64_t{value_bytes} << 1) + value_bytes;
}
inline constexpr size_t kOwnBlobRowBytes = 1 + kBlobRefBytes;
inline constexpr size_t kSharedBlobRowBytes = 1;

/// Room for a row, including version byte and null bitmap.
struct RowRoom {
  size_t fixed_bytes = 0;        ///< taken by what is not variable
  size_t wanted_bytes = 0;       ///< large values move until the row fits in it
  size_t most_bytes = 0;         ///< all values move until the row fits in it
  size_t large_value_bytes = 0;  ///< values of at least this size get a blob of their own
};

/// Chooses the longest values first; returns the resulting bytes of the row. nullopt when it does
/// not fit even if all move.
std::optional<size_t> PlaceValues(const RowRoom& room, std::vector<PlacedValue>* values);

}  // namespace rowan
