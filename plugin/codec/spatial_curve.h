// SPDX-License-Identifier: GPL-2.0-only
// Two-dimensional boxes as keys of an ordered index. Both axes are mapped to 64-bit numbers,
// keeping their order; the plane of those numbers is a quadtree whose cells are numbered along the
// Z-curve. A point is coded by its cell of level 64. A box, too, is coded by one cell: the one that
// holds its lower corner, at a level where twice the cell's side covers the box (XZ-ordering: even
// a box that crosses the border between large cells has a cell of its own size).
//
// A search becomes ranges of such codes. Their entries are candidates: every match is among them.
// How well values spread over cells only affects speed.
//
// The code of a cell:
//   offset size
//   0      1    0 = a point, 1 = another box
//   1      16   of its lower corner, big-endian: bits of x and y in turn, x first
//   17     1    level
// A cell comes before the cells inside it, and these are one range.
//
// Thread safety: functions of their arguments.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "base/bytes.h"

namespace rowan {

/// REQUIRES: no NaN, minimum <= maximum. May be infinite.
struct SpatialBox {
  double x_min = 0;
  double x_max = 0;
  double y_min = 0;
  double y_max = 0;

  [[nodiscard]] bool IsPoint() const { return x_min == x_max && y_min == y_max; }
  bool operator==(const SpatialBox&) const = default;
};

inline constexpr size_t kSpatialCodeBytes = 18;
using SpatialCode = std::array<std::byte, kSpatialCodeBytes>;

/// How boxes in the index relate to the searched one.
enum class SpatialRelation : uint8_t {
  kIntersects,
  kInside,  ///< or equal
  kAround,  ///< or equal
  kEqual,
};

/// The codes that are not before `from` and before `to`.
struct SpatialRange {
  SpatialCode from{};
  SpatialCode to{};
  double share = 1;  ///< how much of its area is searched for
};

enum class SpatialClass : uint8_t { kPoints = 0, kBoxes = 1 };

struct SpatialSearch {
  SpatialBox box;
  SpatialRelation relation = SpatialRelation::kIntersects;
  /// How much coordinates may differ, relative to their size, and still count as equal.
  double tolerance = 0;
};

/// Position of a coordinate on its axis: the order of positions is that of coordinates.
[[nodiscard]] uint64_t SpatialAxis(double coordinate);

[[nodiscard]] SpatialCode SpatialCodeOf(const SpatialBox& box);
[[nodiscard]] inline SpatialClass SpatialClassOf(Bytes code) {
  return code[0] == std::byte{0} ? SpatialClass::kPoints : SpatialClass::kBoxes;
}

/// Appends ranges with the codes of all entries of a class that have the relation to the searched
/// box. At most about `cells_wanted` cells, all of whose contents are taken: the more cells, the
/// fewer false candidates. For boxes also the cells around those, each by itself: a few per level.
void AppendSpatialRanges(const SpatialSearch& search, SpatialClass of, size_t cells_wanted,
                         std::vector<SpatialRange>* ranges);
/// The cells alone, for estimates: without the boxes that are much larger than the searched one.
void AppendSpatialCells(const SpatialSearch& search, SpatialClass of, size_t cells_wanted,
                        std::vector<SpatialRange>* ranges);
/// All codes of the class.
[[nodiscard]] SpatialRange AllOfSpatialClass(SpatialClass of);
/// Sorts ranges and joins those that overlap.
void MergeSpatialRanges(std::vector<SpatialRange>* ranges);

}  // namespace rowan
