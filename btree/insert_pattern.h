// SPDX-License-Identifier: GPL-2.0-only
// Where the inserts into a leaf go: what a node remembers of its last ones tells streams of keys
// that ascend or descend from random ones, any number of streams in one tree, as each has a leaf of
// its own before long. Splits look at it (node_split.h), and each tree counts what it saw.
// Thread safety: pure functions, plain values.
#pragma once

#include <array>
#include <cstdint>

#include "btree/node.h"

namespace rowan {

/// An insert against the one before it in its leaf. The first one that applies.
enum class InsertPlace : uint8_t {
  kUnknown,     ///< none before it since the leaf was made or split
  kAscending,   ///< next behind the last one
  kDescending,  ///< next before the last one
  kLeft,        ///< elsewhere, before all entries of the leaf
  kRight,       ///< elsewhere, behind all entries of the leaf
  kElsewhere,
  kCount
};

/// Of an insert at `slot` of a node that does not have it yet.
[[nodiscard]] InsertPlace InsertPlaceOf(const NodeView& node, size_t slot);
/// The node's insert run after it: how many of the last inserts, more or less, went up (positive)
/// or down in one stream, whose sessions may overtake each other by a few places.
[[nodiscard]] int8_t InsertRunAfter(const NodeView& node, size_t slot);

enum class InsertTrend : uint8_t { kNone, kAscending, kDescending };
/// What the inserts before one at `slot` make of it.
[[nodiscard]] InsertTrend InsertTrendAt(const NodeView& node, size_t slot);

/// Inserts into one tree since it was opened, by place.
struct InsertCounts {
  std::array<uint64_t, static_cast<size_t>(InsertPlace::kCount)> counts{};
  [[nodiscard]] uint64_t Of(InsertPlace place) const { return counts[static_cast<size_t>(place)]; }
};

}  // namespace rowan
