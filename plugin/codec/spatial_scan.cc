// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/codec/spatial_scan.h"

#include "plugin/codec/spatial_entry.h"

namespace rowan {
namespace {

/// Cells per search, for points and for boxes. With more, fewer false candidates are read, but
/// there are more ranges to seek; see docs/figures/spatial_2026_11.md.
constexpr size_t kCells = 48;

/// So many entries are read in about the time of one search of the tree.
constexpr size_t kEntriesBeforeSeek = 12;

}  // namespace

SpatialScan::SpatialScan(const SpatialReference* reference, const SpatialBox& searched,
                         BoxTest test, SpatialLocks locks)
    : reference_(reference), searched_(searched), test_(test), locks_(locks) {
  if (test == BoxTest::kDisjoint) {
    ranges_ = {AllOfSpatialClass(SpatialClass::kPoints), AllOfSpatialClass(SpatialClass::kBoxes)};
  } else {
    searches_ = reference->SearchesFor(searched, test);
    AddRanges(SpatialClass::kPoints);
    // Most indexes have entries of one class only.
    boxes_wait_ = locks == SpatialLocks::kNone;
    if (boxes_wait_) {
      ranges_.push_back(AllOfSpatialClass(SpatialClass::kBoxes));
    } else {
      AddRanges(SpatialClass::kBoxes);
    }
  }
  MergeSpatialRanges(&ranges_);
  if (!ranges_.empty()) end_ = ranges_.back().to;
}

void SpatialScan::AddRanges(SpatialClass of) {
  for (const SpatialSearch& search : searches_) AppendSpatialRanges(search, of, kCells, &ranges_);
}

void SpatialScan::FindBoxRanges() {
  boxes_wait_ = false;
  ranges_.clear();
  AddRanges(SpatialClass::kBoxes);
  MergeSpatialRanges(&ranges_);
  current_ = 0;
  ranges_read_ = ranges_.size();
}

bool SpatialScan::NextRange(Bytes* from, Bytes* to) {
  if (ranges_read_ == ranges_.size()) return false;
  *from = ranges_[ranges_read_].from;
  *to = locks_ == SpatialLocks::kNone ? Bytes(end_) : Bytes(ranges_[ranges_read_].to);
  ranges_read_ = locks_ == SpatialLocks::kNone ? ranges_.size() : ranges_read_ + 1;
  return true;
}

bool SpatialScan::Admits(Bytes key, Bytes payload, Bytes* go_on) {
  const Bytes code = key.first(std::min(key.size(), kSpatialCodeBytes));
  if (boxes_wait_ && SpatialClassOf(code) == SpatialClass::kBoxes) FindBoxRanges();
  while (current_ < ranges_.size() && CompareBytes(ranges_[current_].to, code) <= 0) ++current_;
  if (current_ == ranges_.size()) {
    *go_on = end_;
    return false;
  }
  if (CompareBytes(code, ranges_[current_].from) < 0) {
    if (++passed_ > kEntriesBeforeSeek) *go_on = ranges_[current_].from;
    return false;
  }
  passed_ = 0;
  const std::optional<SpatialBox> box = BoxInPayload(payload);
  return !box.has_value() || reference_->Passes(*box, searched_, test_);
}

}  // namespace rowan
