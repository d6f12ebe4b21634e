// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/spatial_curve.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cfloat>
#include <cmath>
#include <limits>
#include <random>

#include "tests/support/test_settings.h"

namespace rowan {
namespace {

bool Holds(const SpatialBox& box, const SpatialSearch& search) {
  const SpatialBox& with = search.box;
  switch (search.relation) {
    case SpatialRelation::kIntersects:
      return box.x_min <= with.x_max && box.x_max >= with.x_min && box.y_min <= with.y_max &&
             box.y_max >= with.y_min;
    case SpatialRelation::kInside:
      return box.x_min >= with.x_min && box.x_max <= with.x_max && box.y_min >= with.y_min &&
             box.y_max <= with.y_max;
    case SpatialRelation::kAround:
      return box.x_min <= with.x_min && box.x_max >= with.x_max && box.y_min <= with.y_min &&
             box.y_max >= with.y_max;
    case SpatialRelation::kEqual: return box == with;
  }
  return false;
}

constexpr SpatialRelation kRelations[] = {SpatialRelation::kIntersects, SpatialRelation::kInside,
                                          SpatialRelation::kAround, SpatialRelation::kEqual};

std::vector<SpatialRange> RangesFor(const SpatialSearch& search, size_t cells) {
  std::vector<SpatialRange> ranges;
  AppendSpatialRanges(search, SpatialClass::kPoints, cells, &ranges);
  AppendSpatialRanges(search, SpatialClass::kBoxes, cells, &ranges);
  MergeSpatialRanges(&ranges);
  return ranges;
}

bool Covered(const SpatialCode& code, const std::vector<SpatialRange>& ranges) {
  return std::any_of(ranges.begin(), ranges.end(), [&](const SpatialRange& range) {
    return range.from <= code && code < range.to;
  });
}

/// Boxes of all sizes and places, many of them beside each other or at round numbers.
class Boxes {
 public:
  explicit Boxes(uint64_t seed) : random_(seed) {}

  SpatialBox Next() {
    const double x = Coordinate();
    const double y = Coordinate();
    switch (random_() % 6) {
      case 0:
      case 1: return {x, x, y, y};
      case 2: return {x, x, y, y + Extent(y)};
      case 3: return {x, x + Extent(x), y, y};
      case 4: {
        const auto [x_min, x_max] = std::minmax({x, Coordinate()});
        const auto [y_min, y_max] = std::minmax({y, Coordinate()});
        return {x_min, x_max, y_min, y_max};
      }
      default: return {x, x + Extent(x), y, y + Extent(y)};
    }
  }

 private:
  double Coordinate() {
    static constexpr double kSpecial[] = {0.0,    -0.0,    1,       -1,       180,     -180,
                                          0x1p24, -0x1p24, DBL_MAX, -DBL_MAX, DBL_MIN, -DBL_MIN,
                                          5e-324, 1e300,   512,     511.999};
    switch (random_() % 5) {
      case 0: return kSpecial[random_() % std::size(kSpecial)];
      case 1: return std::uniform_real_distribution<double>(-1000, 1000)(random_);
      case 2: return static_cast<double>(static_cast<int>(random_() % 21) - 10);
      case 3: {
        const double size = std::ldexp(1.0 + static_cast<double>(random_() % 1000) / 1000,
                                       static_cast<int>(random_() % 200) - 100);
        return random_() % 2 == 0 ? size : -size;
      }
      default: return 13.4 + static_cast<double>(random_() % 1000) / 1e6;
    }
  }
  double Extent(double from) {
    const double most = std::isfinite(from) && from < 1e299 ? 1e3 : 0;
    return std::ldexp(most, -static_cast<int>(random_() % 70));
  }

  std::mt19937_64 random_;
};

TEST(SpatialCurve, AxisKeepsTheOrderOfCoordinates) {
  std::vector<double> values{-std::numeric_limits<double>::infinity(),
                             -DBL_MAX,
                             -1e300,
                             -0x1p25,
                             -0x1p24 - 1,
                             -0x1p24,
                             -180,
                             -1,
                             -1e-11,
                             -DBL_MIN,
                             0,
                             DBL_MIN,
                             1e-11,
                             1,
                             180,
                             0x1p24 - 1,
                             0x1p24,
                             0x1p24 + 1,
                             1e9,
                             1e300,
                             DBL_MAX,
                             std::numeric_limits<double>::infinity()};
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    EXPECT_LE(SpatialAxis(values[i]), SpatialAxis(values[i + 1])) << values[i];
  }
  EXPECT_EQ(SpatialAxis(0.0), SpatialAxis(-0.0));
  EXPECT_LT(SpatialAxis(-1e-11), SpatialAxis(0));
}

TEST(SpatialCurve, RangesCoverEveryBoxThatHasTheRelation) {
  Boxes boxes(TestSeed());
  std::vector<SpatialBox> all;
  for (int i = 0; i < 400; ++i) all.push_back(boxes.Next());
  for (int i = 0; i < 300; ++i) {
    const SpatialBox searched = i % 2 == 0 ? boxes.Next() : all[static_cast<size_t>(i)];
    for (const SpatialRelation relation : kRelations) {
      const SpatialSearch search{searched, relation};
      const std::vector<SpatialRange> ranges = RangesFor(search, 1 + static_cast<size_t>(i) % 40);
      for (const SpatialBox& box : all) {
        if (!Holds(box, search)) continue;
        ASSERT_TRUE(Covered(SpatialCodeOf(box), ranges))
            << box.x_min << ".." << box.x_max << ", " << box.y_min << ".." << box.y_max;
      }
    }
  }
}

TEST(SpatialCurve, RangesAreInOrderAndInsideTheirClasses) {
  Boxes boxes(TestSeed() + 1);
  const SpatialCode first = AllOfSpatialClass(SpatialClass::kPoints).from;
  const SpatialCode last = AllOfSpatialClass(SpatialClass::kBoxes).to;
  for (int i = 0; i < 300; ++i) {
    const auto ranges = RangesFor({boxes.Next(), kRelations[i % 4]}, 16);
    for (size_t r = 0; r < ranges.size(); ++r) {
      EXPECT_LT(ranges[r].from, ranges[r].to);
      EXPECT_GE(ranges[r].from, first);
      EXPECT_LE(ranges[r].to, last);
      if (r == 0) continue;
      EXPECT_LT(ranges[r - 1].to, ranges[r].from);
    }
  }
}

TEST(SpatialCurve, FewOtherEntriesAreInTheRanges) {
  // A grid of points and one of small squares, as maps have them, far from the origin.
  std::vector<SpatialBox> points;
  std::vector<SpatialBox> squares;
  for (int x = 0; x < 100; ++x) {
    for (int y = 0; y < 100; ++y) {
      const double east = 431000.0 + x;
      const double north = 5401000.0 + y;
      points.push_back({east, east, north, north});
      squares.push_back({east, east + 0.5, north, north + 0.5});
    }
  }
  const SpatialSearch search{{431020.7, 431040.7, 5401050.7, 5401070.7},
                             SpatialRelation::kIntersects};
  const auto ranges = RangesFor(search, 64);
  EXPECT_LT(ranges.size(), 300u);
  for (const auto* boxes : {&points, &squares}) {
    int wanted = 0;
    int candidates = 0;
    for (const SpatialBox& box : *boxes) {
      wanted += Holds(box, search) ? 1 : 0;
      candidates += Covered(SpatialCodeOf(box), ranges) ? 1 : 0;
    }
    EXPECT_GE(wanted, 400);
    EXPECT_LT(candidates, 2 * wanted);
  }
}

TEST(SpatialCurve, SharesOfCellsEstimateTheSearchedArea) {
  std::vector<SpatialRange> cells;
  AppendSpatialCells({{100, 300, 100, 300}, SpatialRelation::kIntersects}, SpatialClass::kPoints, 4,
                     &cells);
  EXPECT_LE(cells.size(), 16u);
  double found = 0;
  for (const SpatialRange& cell : cells) {
    int inside = 0;
    for (int x = 0; x < 400; x += 4) {
      for (int y = 0; y < 400; y += 4) {
        const auto code = SpatialCodeOf({double(x), double(x), double(y), double(y)});
        inside += cell.from <= code && code < cell.to ? 1 : 0;
      }
    }
    found += inside * cell.share;
  }
  EXPECT_NEAR(found, 2500, 1000);
}

}  // namespace
}  // namespace rowan
