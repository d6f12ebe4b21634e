// SPDX-License-Identifier: GPL-2.0-only
// SpatialScan: which entries of a SPATIAL index answer a search, and where the next of them can be.
// Reads without locks read the index as one range; entries outside the search's ranges are skipped,
// and after several of them the scan seeks to the next range. Locking reads read each range by
// itself: they lock nothing else, but empty ranges too. Thread safety: one thread at a time.
#pragma once

#include <vector>

#include "engine/table_cursor.h"
#include "plugin/codec/spatial_reference.h"

namespace rowan {

enum class SpatialLocks : uint8_t { kNone, kRanges };

class SpatialScan final : public EntryGate {
 public:
  /// `reference` outlives the scan.
  SpatialScan(const SpatialReference* reference, const SpatialBox& searched, BoxTest test,
              SpatialLocks locks);

  /// What to read next: the keys in [`*from`, `*to`). False: there are no more.
  bool NextRange(Bytes* from, Bytes* to);

  bool Admits(Bytes key, Bytes payload, Bytes* go_on) override;

 private:
  void AddRanges(SpatialClass of);
  void FindBoxRanges();

  const SpatialReference* const reference_;
  const SpatialBox searched_;
  const BoxTest test_;
  const SpatialLocks locks_;
  std::vector<SpatialSearch> searches_;
  std::vector<SpatialRange> ranges_;
  SpatialCode end_{};
  size_t ranges_read_ = 0;
  size_t current_ = 0;  ///< the first range that does not end before the entry
  size_t passed_ = 0;   ///< entries outside the ranges since the last one inside
  bool boxes_wait_ = false;
};

}  // namespace rowan
