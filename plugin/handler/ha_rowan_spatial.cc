// SPDX-License-Identifier: GPL-2.0-only
// Searches of SPATIAL indexes. The server asks with a bounding box and evaluates its own condition
// on the rows it gets.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <bit>
#include <cmath>
#include <optional>

#include "plugin/server/error_map.h"

namespace rowan {
namespace {

/// For estimates, of points and of boxes: each costs two searches of the tree.
constexpr size_t kEstimateCells = 4;

/// The server names what the searched box is to those in the index.
std::optional<BoxTest> TestFor(ha_rkey_function find_flag) {
  switch (find_flag) {
    case HA_READ_MBR_CONTAIN: return BoxTest::kInside;
    case HA_READ_MBR_INTERSECT: return BoxTest::kIntersects;
    case HA_READ_MBR_WITHIN: return BoxTest::kAround;
    case HA_READ_MBR_DISJOINT: return BoxTest::kDisjoint;
    case HA_READ_MBR_EQUAL: return BoxTest::kEqual;
    default: return std::nullopt;
  }
}

SpatialBox SearchedBox(const uchar* key) {
  const auto* bytes = reinterpret_cast<const std::byte*>(key);
  const auto at = [bytes](size_t number) {
    return std::bit_cast<double>(LoadLe<uint64_t>(bytes + number * sizeof(double)));
  };
  return {at(0), at(1), at(2), at(3)};
}

class ClosedGate final : public EntryGate {
 public:
  bool Admits(Bytes, Bytes, Bytes* go_on) override {
    *go_on = end_;
    return false;
  }

 private:
  const SpatialCode end_ = AllOfSpatialClass(SpatialClass::kBoxes).to;
};

}  // namespace

void ha_rowan::FindNothing() {
  // HANDLER steps through any index and searches it by keys; a SPATIAL one has nothing to find that
  // way, and InnoDB finds nothing either.
  static ClosedGate gate;
  reader()->SetGate(&gate);
}

int ha_rowan::ReadSpatial(uchar* record, const uchar* key, ha_rkey_function find_flag) {
  const SpatialReference* reference =
      codec().SpatialReferenceOf(codec().IndexNumberOfKey(active_index));
  const std::optional<BoxTest> test = TestFor(find_flag);
  if (reference == nullptr || !test.has_value()) return HA_ERR_UNSUPPORTED;
  const bool locks =
      read_options_.mode == ReadMode::kLockShared || read_options_.mode == ReadMode::kLockExclusive;
  spatial_scan_ = std::make_unique<SpatialScan>(
      reference, SearchedBox(key), *test, locks ? SpatialLocks::kRanges : SpatialLocks::kNone);
  reader()->SetGate(spatial_scan_.get());
  const int error = ReadNextSpatialRange(record);
  return error == HA_ERR_END_OF_FILE ? HA_ERR_KEY_NOT_FOUND : error;
}

int ha_rowan::ReadNextSpatialRange(uchar* record) {
  Bytes from;
  Bytes to;
  while (spatial_scan_->NextRange(&from, &to)) {
    reader()->SetEnd(to);
    const int error = Found(reader()->SeekAtLeast(from, record), HA_ERR_END_OF_FILE);
    if (error != HA_ERR_END_OF_FILE) return error;
  }
  return HA_ERR_END_OF_FILE;
}

Result<uint64_t> ha_rowan::EstimateSpatial(uint32_t index_number, const key_range* range) const {
  const std::optional<BoxTest> test = range == nullptr ? std::nullopt : TestFor(range->flag);
  if (!test.has_value()) return Status(Code::kUnsupported);
  const uint64_t all = engine_table()->statistics().rows;
  const BoxTest asked = *test == BoxTest::kDisjoint ? BoxTest::kIntersects : *test;
  const SpatialReference* reference = codec().SpatialReferenceOf(index_number);
  std::vector<SpatialRange> cells;
  for (const SpatialSearch& search : reference->SearchesFor(SearchedBox(range->key), asked)) {
    AppendSpatialCells(search, SpatialClass::kPoints, kEstimateCells, &cells);
    AppendSpatialCells(search, SpatialClass::kBoxes, kEstimateCells, &cells);
  }
  double found = 0;
  for (const SpatialRange& cell : cells) {
    Result<uint64_t> rows = engine_table()->EstimateRange(index_number, cell.from, cell.to);
    if (!rows.ok()) return rows.status();
    found += static_cast<double>(*rows) * cell.share;
  }
  const uint64_t rows = std::min(static_cast<uint64_t>(std::llround(found)), all);
  return *test == BoxTest::kDisjoint ? all - rows : rows;
}

}  // namespace rowan
