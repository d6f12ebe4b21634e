// SPDX-License-Identifier: GPL-2.0-only
// SpatialReference: what an index of a geometry column must know about the column's spatial
// reference system: the bounding boxes of its values, and how they relate to each other. On a
// sphere a box may cross the line where longitudes wrap around; the index treats it as one around
// the globe. The server decides which boxes answer a search, so that an index finds what the
// server's functions do.
// Thread safety: const.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "plugin/codec/spatial_curve.h"

class Field;
namespace dd {
class Spatial_reference_system;
}

namespace rowan {

/// How a box in the index relates to the searched one, as the server asks.
enum class BoxTest : uint8_t { kIntersects, kInside, kAround, kEqual, kDisjoint };

class SpatialReference {
 public:
  /// REQUIRES: a geometry column, and a thread with a connection. Null with a sentence in
  /// *refusal when the server does not know the system.
  static std::shared_ptr<const SpatialReference> Make(const Field& field, std::string* refusal);
  ~SpatialReference();
  SpatialReference(const SpatialReference&) = delete;
  SpatialReference& operator=(const SpatialReference&) = delete;

  /// Without one, values of several systems may be in the column, and all are treated as planar.
  [[nodiscard]] std::optional<uint32_t> srid() const { return srid_; }
  /// For the index's descriptor.
  [[nodiscard]] std::string Describe() const;
  /// The bounding box of a column's value. False: the bytes are not a geometry.
  [[nodiscard]] bool BoxOf(Bytes value, SpatialBox* box) const;
  /// The code under which the index has a value with this bounding box.
  [[nodiscard]] SpatialCode CodeOf(const SpatialBox& box) const;
  /// What to search for in order to find all boxes that pass `test`; several parts are one search.
  [[nodiscard]] std::vector<SpatialSearch> SearchesFor(const SpatialBox& searched,
                                                       BoxTest test) const;
  [[nodiscard]] bool Passes(const SpatialBox& box, const SpatialBox& searched, BoxTest test) const;

 private:
  SpatialReference();
  [[nodiscard]] bool PassesOnSphere(const SpatialBox& box, const SpatialBox& searched,
                                    BoxTest test) const;

  std::optional<uint32_t> srid_;
  std::unique_ptr<const dd::Spatial_reference_system> system_;  ///< null: SRID 0, or none
  double half_turn_ = 0;  ///< 180 degrees in its unit; 0: a plane
};

/// Whether both treat values alike. Null: no SPATIAL index.
bool SameSpatialReference(const SpatialReference* one, const SpatialReference* other);

}  // namespace rowan
