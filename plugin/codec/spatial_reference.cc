// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/spatial_reference.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <numbers>
#include <string>

#include "base/format.h"
#include "sql/dd/types/spatial_reference_system.h"
#include "sql/field.h"
#include "sql/gis/rtree_support.h"

namespace rowan {
namespace {

constexpr size_t kSridBytes = 4;

/// The server takes numbers for equal that differ by rounding. A search is larger by more.
constexpr double kTolerance = 1e-12;

/// A point in a plane, as the server stores it: SRID, byte order, type, x, y.
constexpr size_t kPointBytes = kSridBytes + 1 + 4 + 2 * sizeof(double);

bool PointAt(Bytes value, SpatialBox* box) {
  if (value.size() != kPointBytes || value[kSridBytes] != std::byte{1} ||
      LoadLe<uint32_t>(value.data() + kSridBytes + 1) != 1) {
    return false;
  }
  double x;
  double y;
  std::memcpy(&x, value.data() + kPointBytes - 2 * sizeof(double), sizeof(x));
  std::memcpy(&y, value.data() + kPointBytes - sizeof(double), sizeof(y));
  *box = {x, x, y, y};
  return !std::isnan(x) && !std::isnan(y);
}

SpatialRelation RelationFor(BoxTest test) {
  switch (test) {
    case BoxTest::kInside: return SpatialRelation::kInside;
    case BoxTest::kAround: return SpatialRelation::kAround;
    case BoxTest::kEqual: return SpatialRelation::kEqual;
    default: return SpatialRelation::kIntersects;
  }
}

rtr_mbr_t ServersBox(const SpatialBox& box) { return {box.x_min, box.x_max, box.y_min, box.y_max}; }

}  // namespace

SpatialReference::SpatialReference() = default;
SpatialReference::~SpatialReference() = default;

std::shared_ptr<const SpatialReference> SpatialReference::Make(const Field& field,
                                                               std::string* refusal) {
  std::shared_ptr<SpatialReference> made(new SpatialReference());
  if (const auto srid = down_cast<const Field_geom&>(field).get_srid(); srid.has_value()) {
    made->srid_ = *srid;
    made->system_.reset(fetch_srs(*srid));
    if (*srid != 0 && made->system_ == nullptr) {
      *refusal = Format("an index on a column with SRID {}, which does not exist", *srid);
      return nullptr;
    }
  }
  if (made->system_ != nullptr && made->system_->is_geographic()) {
    made->half_turn_ = made->system_->from_radians(std::numbers::pi);
  }
  return made;
}

std::string SpatialReference::Describe() const {
  return srid_.has_value() ? Format(" spatial={}", *srid_) : std::string(" spatial");
}

bool SameSpatialReference(const SpatialReference* one, const SpatialReference* other) {
  if (one == nullptr || other == nullptr) return one == other;
  return one->srid() == other->srid();
}

bool SpatialReference::BoxOf(Bytes value, SpatialBox* box) const {
  if (value.size() <= kSridBytes) return false;
  if (half_turn_ == 0 && PointAt(value, box)) return true;
  double corners[4];
  const auto* bytes = reinterpret_cast<const uchar*>(value.data());
  if (get_mbr_from_store(system_.get(), bytes, static_cast<uint>(value.size()), 2, corners,
                         nullptr) != 0) {
    return false;
  }
  *box = {corners[0], corners[1], corners[2], corners[3]};
  return true;
}

SpatialCode SpatialReference::CodeOf(const SpatialBox& box) const {
  const bool crosses = half_turn_ != 0 && (box.x_max > half_turn_ || box.x_min < -half_turn_);
  if (!crosses) return SpatialCodeOf(box);
  return SpatialCodeOf({-half_turn_, half_turn_, box.y_min, box.y_max});
}

std::vector<SpatialSearch> SpatialReference::SearchesFor(const SpatialBox& searched,
                                                         BoxTest test) const {
  const double slack = half_turn_ * kTolerance;
  const bool crosses = half_turn_ != 0 && (searched.x_max >= half_turn_ - slack ||
                                           searched.x_min <= slack - half_turn_);
  if (!crosses) return {{searched, RelationFor(test), kTolerance}};
  // In two parts. What the boxes there have to be like, the test decides.
  const auto intersecting = [&](double x_min, double x_max) {
    return SpatialSearch{
        {x_min, x_max, searched.y_min, searched.y_max}, SpatialRelation::kIntersects, kTolerance};
  };
  const double turn = 2 * half_turn_;
  const double x_min = searched.x_min - slack;
  const double x_max = searched.x_max + slack;
  if (x_max - x_min >= turn - 4 * slack) return {intersecting(-half_turn_, half_turn_)};
  if (searched.x_max >= half_turn_ - slack) {
    return {intersecting(std::min(x_min, half_turn_), half_turn_),
            intersecting(-half_turn_, std::max(x_max - turn, slack - half_turn_))};
  }
  return {intersecting(-half_turn_, std::max(x_max, -half_turn_)),
          intersecting(std::min(x_min + turn, half_turn_ - slack), half_turn_)};
}

bool SpatialReference::Passes(const SpatialBox& box, const SpatialBox& searched,
                              BoxTest test) const {
  if (half_turn_ != 0) return PassesOnSphere(box, searched, test);
  const auto overlap = [&] {
    return box.x_min <= searched.x_max && box.x_max >= searched.x_min &&
           box.y_min <= searched.y_max && box.y_max >= searched.y_min;
  };
  const auto covers = [](const SpatialBox& outer, const SpatialBox& inner) {
    return inner.x_min >= outer.x_min && inner.x_max <= outer.x_max && inner.y_min >= outer.y_min &&
           inner.y_max <= outer.y_max;
  };
  switch (test) {
    case BoxTest::kIntersects: return overlap();
    case BoxTest::kInside: return covers(searched, box);
    case BoxTest::kAround: return covers(box, searched);
    case BoxTest::kDisjoint: return !overlap();
    case BoxTest::kEqual: break;
  }
  rtr_mbr_t one = ServersBox(searched);
  rtr_mbr_t other = ServersBox(box);
  return mbr_equal_logically(system_.get(), &one, &other);
}

bool SpatialReference::PassesOnSphere(const SpatialBox& box, const SpatialBox& searched,
                                      BoxTest test) const {
  rtr_mbr_t one = ServersBox(searched);
  rtr_mbr_t other = ServersBox(box);
  switch (test) {
    case BoxTest::kIntersects: return mbr_intersect_cmp(system_.get(), &one, &other);
    case BoxTest::kInside: return mbr_contain_cmp(system_.get(), &one, &other);
    case BoxTest::kAround: return mbr_within_cmp(system_.get(), &one, &other);
    case BoxTest::kEqual: return mbr_equal_logically(system_.get(), &one, &other);
    case BoxTest::kDisjoint: return mbr_disjoint_cmp(system_.get(), &one, &other);
  }
  return false;
}

}  // namespace rowan
