// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/row_placement.h"

#include <algorithm>

namespace rowan {
namespace {

/// A blob of its own takes at least a page: rows with very many large columns share one instead.
constexpr uint32_t kOwnBlobsMax = 16;

std::optional<size_t> PlaceWith(const RowRoom& room, uint32_t own_blobs_max,
                                const std::vector<PlacedValue*>& longest_first) {
  using Place = PlacedValue::Place;
  size_t bytes = room.fixed_bytes;
  for (PlacedValue* value : longest_first) {
    value->place = Place::kInRow;
    bytes += InRowBytes(value->value.size());
  }
  uint32_t own_blobs = 0;
  bool shares = false;
  for (PlacedValue* value : longest_first) {
    const bool large = value->value.size() >= room.large_value_bytes;
    const bool own = large && own_blobs < own_blobs_max;
    if (bytes <= (own ? room.wanted_bytes : room.most_bytes)) break;
    bytes -= InRowBytes(value->value.size());
    if (own) {
      ++own_blobs;
      value->place = Place::kOwnBlob;
      bytes += kOwnBlobRowBytes;
    } else {
      value->place = Place::kSharedBlob;
      bytes += kSharedBlobRowBytes + (shares ? 0 : kBlobRefBytes);
      shares = true;
    }
  }
  if (bytes > room.most_bytes) return std::nullopt;
  return bytes;
}

}  // namespace

std::optional<size_t> PlaceValues(const RowRoom& room, std::vector<PlacedValue>* values) {
  std::vector<PlacedValue*> longest_first;
  longest_first.reserve(values->size());
  for (PlacedValue& value : *values) longest_first.push_back(&value);
  std::stable_sort(longest_first.begin(), longest_first.end(),
                   [](const PlacedValue* left, const PlacedValue* right) {
                     return left->value.size() > right->value.size();
                   });
  // A reference for each takes more of the row than one for all.
  const std::optional<size_t> bytes = PlaceWith(room, kOwnBlobsMax, longest_first);
  return bytes.has_value() ? bytes : PlaceWith(room, 0, longest_first);
}

}  // namespace rowan
