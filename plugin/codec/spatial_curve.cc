// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/spatial_curve.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace rowan {
namespace {

constexpr uint8_t kPointClass = 0;
constexpr uint8_t kBoxClass = 1;
constexpr uint32_t kLevels = 64;
constexpr uint64_t kAxisMax = UINT64_MAX;

/// Coordinates up to here, which are those of maps and drawings, have cells of equal size: beyond,
/// cells grow with the numbers. In a plane that is logarithmic everywhere, what lies next to an
/// axis would be in cells that are long and thin.
constexpr double kLinearMax = 0x1p24;
constexpr double kLinearScale = 0x1p38;  // kLinearMax becomes a quarter of the axis

/// Every second bit, starting with the highest.
uint64_t Spread(uint32_t bits) {
  uint64_t word = bits;
  word = (word | word << 16) & 0x0000FFFF0000FFFF;
  word = (word | word << 8) & 0x00FF00FF00FF00FF;
  word = (word | word << 4) & 0x0F0F0F0F0F0F0F0F;
  word = (word | word << 2) & 0x3333333333333333;
  word = (word | word << 1) & 0x5555555555555555;
  return word;
}

uint64_t Interleave(uint32_t x, uint32_t y) { return Spread(x) << 1 | Spread(y); }

/// Square of the plane of axis positions.
struct Cell {
  uint64_t x = 0;  ///< lower corner
  uint64_t y = 0;
  uint32_t level = 0;  ///< 0: the plane; each level halves the side

  /// Side less one.
  [[nodiscard]] uint64_t Span() const { return level >= kLevels ? 0 : kAxisMax >> level; }
};

SpatialCode MakeCode(uint8_t kind, uint64_t x, uint64_t y, uint32_t level) {
  SpatialCode code;
  code[0] = static_cast<std::byte>(kind);
  const auto high = [](uint64_t word) { return static_cast<uint32_t>(word >> 32); };
  const auto low = [](uint64_t word) { return static_cast<uint32_t>(word); };
  StoreBe64(code.data() + 1, Interleave(high(x), high(y)));
  StoreBe64(code.data() + 9, Interleave(low(x), low(y)));
  code[17] = static_cast<std::byte>(level);
  return code;
}

SpatialCode StartOfClass(uint8_t kind) { return MakeCode(kind, 0, 0, 0); }

/// First code after the cell and everything in it.
SpatialCode BehindCell(uint8_t kind, const Cell& cell) {
  SpatialCode last = MakeCode(kind, cell.x | cell.Span(), cell.y | cell.Span(), 0);
  uint64_t low = LoadBe64(last.data() + 9);
  uint64_t high = LoadBe64(last.data() + 1);
  if (++low == 0 && ++high == 0) return StartOfClass(static_cast<uint8_t>(kind + 1));
  StoreBe64(last.data() + 1, high);
  StoreBe64(last.data() + 9, low);
  return last;
}

/// Lowest level on which a box of this extent (last position less first) may be.
uint32_t LevelOfExtent(uint64_t extent) {
  return extent <= 1 ? kLevels : static_cast<uint32_t>(std::countl_zero(extent - 1));
}

/// Last position that a box in this cell may reach on an axis.
uint64_t Reach(uint64_t lower, uint64_t span) {
  const uint64_t more = span > kAxisMax / 2 ? kAxisMax : 2 * span + 1;
  return lower > kAxisMax - more ? kAxisMax : lower + more;
}

/// What the relation asks of the lowest and the highest position of a box on one axis.
struct AxisBounds {
  uint64_t low_min = 0;
  uint64_t low_max = kAxisMax;
  uint64_t high_min = 0;
  uint64_t high_max = kAxisMax;

  [[nodiscard]] bool Possible(uint64_t first, uint64_t last, uint64_t reach) const {
    return last >= low_min && first <= low_max && reach >= high_min && first <= high_max;
  }
  [[nodiscard]] bool Certain(uint64_t first, uint64_t last, uint64_t reach) const {
    return first >= low_min && last <= low_max && first >= high_min && reach <= high_max;
  }
};

/// Positions of a searched coordinate.
struct AxisPlace {
  AxisPlace(double coordinate, double tolerance) {
    const double slack = tolerance * std::max(1.0, std::abs(coordinate));
    first = SpatialAxis(coordinate - slack);
    last = SpatialAxis(coordinate + slack);
  }
  uint64_t first;
  uint64_t last;
};

AxisBounds BoundsFor(SpatialRelation relation, const AxisPlace& low, const AxisPlace& high) {
  switch (relation) {
    case SpatialRelation::kIntersects: return {.low_max = high.last, .high_min = low.first};
    case SpatialRelation::kInside: return {low.first, high.last, low.first, high.last};
    case SpatialRelation::kAround: return {.low_max = low.last, .high_min = high.first};
    case SpatialRelation::kEqual: return {low.first, low.last, high.first, high.last};
  }
  return {};
}

/// How much of a cell's side the searched positions take.
double ShareOfSide(const AxisBounds& axis, uint64_t first, uint64_t last) {
  const uint64_t from = std::max({first, axis.low_min, axis.high_min});
  const uint64_t to = std::min({last, axis.low_max, axis.high_max});
  if (from > to) return 0;
  return (static_cast<double>(to - from) + 1) / (static_cast<double>(last - first) + 1);
}

/// The search for the points, or for the boxes.
class Decomposition {
 public:
  Decomposition(uint8_t kind, const SpatialSearch& search, bool own_cells,
                std::vector<SpatialRange>* ranges)
      : kind_(kind),
        own_cells_(own_cells && kind != kPointClass),
        x_(BoundsFor(search.relation, {search.box.x_min, search.tolerance},
                     {search.box.x_max, search.tolerance})),
        y_(BoundsFor(search.relation, {search.box.y_min, search.tolerance},
                     {search.box.y_max, search.tolerance})),
        ranges_(ranges) {
    const auto widest = [](const AxisBounds& axis) {
      return axis.high_max > axis.low_min ? axis.high_max - axis.low_min : 0;
    };
    first_level_ = LevelOfExtent(std::max(widest(x_), widest(y_)));
  }

  void Run(size_t cells_wanted) {
    std::vector<Cell> open{Cell{}};
    std::vector<Cell> next;
    while (!open.empty()) {
      next.clear();
      for (const Cell& cell : open) Divide(cell, &next);
      open.swap(next);
      if (whole_cells_ + open.size() <= cells_wanted) continue;
      for (const Cell& cell : open) AppendAll(cell);
      return;
    }
  }

 private:
  enum class Share : uint8_t { kNone, kSome, kAll };

  [[nodiscard]] Share ShareOf(const Cell& cell) const {
    const uint64_t span = cell.Span();
    const uint64_t x_last = cell.x + span;
    const uint64_t y_last = cell.y + span;
    const uint64_t x_reach = kind_ == kPointClass ? x_last : Reach(cell.x, span);
    const uint64_t y_reach = kind_ == kPointClass ? y_last : Reach(cell.y, span);
    if (!x_.Possible(cell.x, x_last, x_reach)) return Share::kNone;
    if (!y_.Possible(cell.y, y_last, y_reach)) return Share::kNone;
    const bool all = x_.Certain(cell.x, x_last, x_reach) && y_.Certain(cell.y, y_last, y_reach);
    return all || cell.level >= kLevels ? Share::kAll : Share::kSome;
  }

  /// REQUIRES: a part of the cell is searched. Its own parts of which that is true go to `inside`.
  void Divide(const Cell& cell, std::vector<Cell>* inside) {
    if (ShareOf(cell) == Share::kAll) {
      AppendAll(cell);
      ++whole_cells_;
      return;
    }
    const uint64_t half = cell.Span() / 2 + 1;
    for (const uint64_t x : {cell.x, cell.x + half}) {
      for (const uint64_t y : {cell.y, cell.y + half}) {
        const Cell part{x, y, cell.level + 1};
        if (ShareOf(part) != Share::kNone) inside->push_back(part);
      }
    }
    if (own_cells_ && cell.level >= first_level_) AppendOwn(cell);
  }

  void AppendAll(const Cell& cell) {
    const uint32_t level = kind_ == kPointClass ? 0 : cell.level;
    const double share = ShareOfSide(x_, cell.x, cell.x + cell.Span()) *
                         ShareOfSide(y_, cell.y, cell.y + cell.Span());
    ranges_->push_back({MakeCode(kind_, cell.x, cell.y, level), BehindCell(kind_, cell), share});
  }

  /// Boxes that belong to this cell and not to one in it.
  void AppendOwn(const Cell& cell) {
    ranges_->push_back({MakeCode(kind_, cell.x, cell.y, cell.level),
                        MakeCode(kind_, cell.x, cell.y, cell.level + 1)});
  }

  const uint8_t kind_;
  const bool own_cells_;
  const AxisBounds x_;
  const AxisBounds y_;
  std::vector<SpatialRange>* const ranges_;
  uint32_t first_level_ = 0;
  size_t whole_cells_ = 0;
};

}  // namespace

uint64_t SpatialAxis(double coordinate) {
  constexpr uint64_t kMiddle = uint64_t{1} << 63;
  const double size = coordinate < 0 ? -coordinate : coordinate;
  uint64_t distance;
  if (size <= kLinearMax) {
    distance = static_cast<uint64_t>(size * kLinearScale);
  } else {
    // The bits of positive numbers are in their order.
    distance =
        (uint64_t{1} << 62) + std::bit_cast<uint64_t>(size) - std::bit_cast<uint64_t>(kLinearMax);
  }
  return coordinate < 0 ? kMiddle - 1 - distance : kMiddle + distance;
}

SpatialCode SpatialCodeOf(const SpatialBox& box) {
  const uint64_t x = SpatialAxis(box.x_min);
  const uint64_t y = SpatialAxis(box.y_min);
  if (box.IsPoint()) return MakeCode(kPointClass, x, y, kLevels);
  const uint64_t x_last = SpatialAxis(box.x_max);
  const uint64_t y_last = SpatialAxis(box.y_max);
  uint32_t level = LevelOfExtent(std::max(x_last - x, y_last - y));
  const auto corner = [](uint64_t position, uint32_t of_level) {
    return position & ~Cell{0, 0, of_level}.Span();
  };
  if (level < kLevels) {  // a smaller cell may do, depending on where in it the box begins
    const uint64_t span = Cell{0, 0, level + 1}.Span();
    const bool fits =
        Reach(corner(x, level + 1), span) >= x_last && Reach(corner(y, level + 1), span) >= y_last;
    if (fits) ++level;
  }
  return MakeCode(kBoxClass, corner(x, level), corner(y, level), level);
}

void AppendSpatialRanges(const SpatialSearch& search, SpatialClass of, size_t cells_wanted,
                         std::vector<SpatialRange>* ranges) {
  Decomposition(static_cast<uint8_t>(of), search, true, ranges).Run(cells_wanted);
}

void AppendSpatialCells(const SpatialSearch& search, SpatialClass of, size_t cells_wanted,
                        std::vector<SpatialRange>* ranges) {
  Decomposition(static_cast<uint8_t>(of), search, false, ranges).Run(cells_wanted);
}

SpatialRange AllOfSpatialClass(SpatialClass of) {
  const auto kind = static_cast<uint8_t>(of);
  return {StartOfClass(kind), StartOfClass(static_cast<uint8_t>(kind + 1))};
}

void MergeSpatialRanges(std::vector<SpatialRange>* ranges) {
  std::sort(ranges->begin(), ranges->end(), [](const SpatialRange& one, const SpatialRange& other) {
    return one.from < other.from;
  });
  size_t kept = 0;
  for (const SpatialRange& range : *ranges) {
    if (kept > 0 && range.from <= (*ranges)[kept - 1].to) {
      SpatialRange& last = (*ranges)[kept - 1];
      last.to = std::max(last.to, range.to);
    } else {
      (*ranges)[kept++] = range;
    }
  }
  ranges->resize(kept);
}

}  // namespace rowan
