// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/range_cover.h"

namespace rowan {

void RangeCover::Start(const ScanStart& start) {
  covering_ = scan_->locking() && scan_->options.lock_gaps;
  if (!covering_) return;
  covered_to_end_ = false;
  looked_unbounded_ = start.from == ScanStart::From::kEnd;
  covered_unbounded_ = looked_unbounded_ && !scan_->forward();
  covered_.assign(start.key.begin(), start.key.end());
  looked_.assign(start.tree_key.begin(), start.tree_key.end());
  if (start.from == ScanStart::From::kAfterKey) covered_.push_back(std::byte{0});
}

Bytes RangeCover::Behind(Bytes key) {
  behind_scratch_.assign(key.begin(), key.end());
  behind_scratch_.push_back(std::byte{0});
  return behind_scratch_;
}

Status RangeCover::LockWay(bool on_entry, bool at_end, bool* settled) {
  const bool stays_in_leaf =
      on_entry && (scan_->forward() ? scan_->cursor->slot() > 0
                                    : scan_->cursor->slot() + 1 < scan_->cursor->leaf_entries());
  if (at_end) {
    *settled = stays_in_leaf || covered_to_end_;
    return covered_to_end_ ? Status::Ok() : LockToEnd();
  }
  const Bytes value = scan_->cursor->value();
  const bool has_repeat = !scan_->index->clustered && !value.empty() &&
                          (static_cast<uint8_t>(value[0]) & kEntryHasRepeat) != 0;
  const Bytes key = StripRepeat(scan_->cursor->key(), has_repeat);
  *settled = stays_in_leaf ||
             (scan_->forward() ? CompareBytes(covered_, key) >= 0
                               : !covered_unbounded_ && CompareBytes(covered_, Behind(key)) <= 0);
  return *settled ? Status::Ok() : LockGapBefore(key);
}

Status RangeCover::LockToEnd() {
  RangePiece piece{.low = covered_, .high = scan_->end_key, .unbounded = !scan_->has_end()};
  if (!scan_->forward()) piece = {.low = {}, .high = covered_, .unbounded = covered_unbounded_};
  covered_to_end_ = true;
  if (!piece.unbounded && CompareBytes(piece.low, piece.high) >= 0) return Status::Ok();
  return scan_->manager->locks()->LockGap(scan_->txn, scan_->index->id(), scan_->lock_mode(),
                                          piece);
}

Status RangeCover::LockGapBefore(Bytes key) {
  const Bytes near_end = scan_->forward() ? key : Behind(key);
  const RangePiece piece =
      scan_->forward()
          ? RangePiece{.low = covered_, .high = near_end}
          : RangePiece{.low = near_end, .high = covered_, .unbounded = covered_unbounded_};
  if (!piece.unbounded && CompareBytes(piece.low, piece.high) >= 0) return Status::Ok();
  const Status status =
      scan_->manager->locks()->LockGap(scan_->txn, scan_->index->id(), scan_->lock_mode(), piece);
  covered_.assign(near_end.begin(), near_end.end());
  covered_unbounded_ = false;
  return status;
}

RangePiece RangeCover::PieceTo(Bytes key, GapEdge edge) {
  const Bytes behind = Behind(key);
  RangePiece piece{.low = key, .high = behind, .gap_edge = edge};
  if (scan_->forward() && CompareBytes(covered_, key) < 0) piece.low = covered_;
  if (!scan_->forward() && CompareBytes(covered_, behind) > 0) piece.high = covered_;
  piece.unbounded = !scan_->forward() && covered_unbounded_;
  return piece;
}

void RangeCover::NoteCovered(Bytes key) {
  const Bytes tree_key = scan_->cursor->key();
  covered_unbounded_ = false;
  looked_unbounded_ = false;
  covered_.assign(key.begin(), key.end());
  looked_.assign(tree_key.begin(), tree_key.end());
  if (!scan_->forward()) return;
  covered_.push_back(std::byte{0});
  looked_.push_back(std::byte{0});
}

Status RangeCover::LockEntry(const LockTarget& target, bool own, WaitPolicy policy) {
  LockTable* locks = scan_->manager->locks();
  const RangePiece piece = PieceTo(target.key, GapEdge::kNone);
  const Status status =
      own ? locks->LockGap(scan_->txn, target.index, scan_->lock_mode(), piece)
          : locks->LockScanned(scan_->txn, target, scan_->lock_mode(), policy, piece);
  if (!status.ok()) return status;
  NoteCovered(target.key);
  return Status::Ok();
}

Status RangeCover::LockDead(Bytes key) {
  const RangePiece piece = PieceTo(key, scan_->forward() ? GapEdge::kLast : GapEdge::kFirst);
  const Status status =
      scan_->manager->locks()->LockGap(scan_->txn, scan_->index->id(), scan_->lock_mode(), piece);
  if (!status.ok()) return status;
  NoteCovered(key);
  return Status::Ok();
}

Status RangeCover::LockAbsent(Bytes key) {
  const RangePiece piece{.low = key, .high = Behind(key), .gap_edge = GapEdge::kLast};
  return scan_->manager->locks()->LockGap(scan_->txn, scan_->index->id(), scan_->lock_mode(),
                                          piece);
}

Status RangeCover::SeekLooked() {
  const Bytes looked = looked_;
  return scan_->cursor->Seek(scan_->direction, looked_unbounded_ ? nullptr : &looked);
}

}  // namespace rowan
