// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/spatial_search.h"

#include <bit>
#include <cmath>
#include <optional>

namespace rowan {
namespace {

/// Cells of an estimate, for points and for boxes: each costs two searches of the tree.
constexpr size_t kEstimateCells = 4;

/// Maps the server's relation of the searched box to those in the index.
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

SpatialBox BoxOf(const uchar* key) {
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

void FindNothing(TableCursor* reader) {
  static ClosedGate gate;
  reader->SetGate(&gate);
}

Status SearchBoxes(const BoxSearch& search, TablePart* part, uchar* record) {
  const SpatialReference* reference = part->codec().SpatialReferenceOf(part->reader()->index());
  const std::optional<BoxTest> test = TestFor(search.relation);
  if (reference == nullptr || !test.has_value()) return Status(Code::kUnsupported);
  part->scan.spatial =
      std::make_unique<SpatialScan>(reference, BoxOf(search.box), *test, search.locks);
  part->reader()->SetGate(part->scan.spatial.get());
  return ReadNextBoxes(part, record);
}

Status ReadNextBoxes(TablePart* part, uchar* record) {
  Bytes from;
  Bytes to;
  while (part->scan.spatial->NextRange(&from, &to)) {
    part->reader()->SetEnd(to);
    const Status status = part->reader()->SeekAtLeast(from, record);
    if (!status.Is(Code::kEndOfRange) && !status.Is(Code::kNotFound)) return status;
  }
  return Status(Code::kEndOfRange);
}

Result<uint64_t> EstimateBoxes(const TablePart& part, uint32_t index_number, const key_range* range,
                               RangeEstimates* estimates) {
  const std::optional<BoxTest> test = range == nullptr ? std::nullopt : TestFor(range->flag);
  if (!test.has_value()) return Status(Code::kUnsupported);
  const uint64_t all = part.table()->statistics().rows;
  const BoxTest asked = *test == BoxTest::kDisjoint ? BoxTest::kIntersects : *test;
  const SpatialReference* reference = part.codec().SpatialReferenceOf(index_number);
  std::vector<SpatialRange> cells;
  for (const SpatialSearch& search : reference->SearchesFor(BoxOf(range->key), asked)) {
    AppendSpatialCells(search, SpatialClass::kPoints, kEstimateCells, &cells);
    AppendSpatialCells(search, SpatialClass::kBoxes, kEstimateCells, &cells);
  }
  double found = 0;
  for (const SpatialRange& cell : cells) {
    Result<uint64_t> rows = estimates->Estimate(*part.table(), index_number, cell.from, cell.to);
    if (!rows.ok()) return rows.status();
    found += static_cast<double>(*rows) * cell.share;
  }
  const uint64_t rows = std::min(static_cast<uint64_t>(std::llround(found)), all);
  return *test == BoxTest::kDisjoint ? all - rows : rows;
}

}  // namespace rowan
