// SPDX-License-Identifier: GPL-2.0-only
// Where the inserts into a leaf go: what a node remembers of its last inserts distinguishes streams
// of ascending or descending keys from random ones. One tree may have any number of streams, as
// each soon has a leaf of its own. Splits use this (node_split.h), and each tree keeps counts.
// Thread safety: pure functions, plain values.
#pragma once

#include <array>
#include <cstdint>

#include "btree/node.h"

namespace rowan {

/// An insert relative to the previous one in its leaf: the first value that applies.
enum class InsertPlace : uint8_t {
  kUnknown,     ///< the first since the leaf was made or split
  kAscending,   ///< directly after the previous one
  kDescending,  ///< directly before the previous one
  kLeft,        ///< elsewhere, before all entries of the leaf
  kRight,       ///< elsewhere, after all entries of the leaf
  kElsewhere,
  kCount
};

/// For an insert at `slot` of a node that does not have it yet.
[[nodiscard]] InsertPlace InsertPlaceOf(const NodeView& node, size_t slot);
/// The node's insert run after that insert: roughly how many of the last inserts went up (positive)
/// or down in one stream, whose sessions may overtake each other by a few places.
[[nodiscard]] int8_t InsertRunAfter(const NodeView& node, size_t slot);

enum class InsertTrend : uint8_t { kNone, kAscending, kDescending };
/// The trend of the earlier inserts, for an insert at `slot`.
[[nodiscard]] InsertTrend InsertTrendAt(const NodeView& node, size_t slot);

/// Inserts into one tree since it was opened, by place.
struct InsertCounts {
  std::array<uint64_t, static_cast<size_t>(InsertPlace::kCount)> counts{};
  [[nodiscard]] uint64_t Of(InsertPlace place) const { return counts[static_cast<size_t>(place)]; }
};

}  // namespace rowan
