// SPDX-License-Identifier: GPL-2.0-only
// The key ranges of locking scans (lock_gaps). Why no insert slips past one:
//
// An insert asks for the gaps of others under the exclusive latch of the leaf its entry goes to. A
// scan steps from one entry to the next; what lies between them is the way. If both are on the leaf
// that it has latched, it locks the way and the entry under that latch: an insert into the way is
// either in the leaf already, and then it would be the next entry, or comes later and finds the
// range. If the way may lead over another leaf, which the scan has let go of, it locks the way
// first and then looks again from where it had been: what was inserted before the way was locked is
// found now, and nothing can be inserted after it. Two neighbouring slots prove that a way stays in
// a leaf.
//
// Dead entries are passed, but with their key locked against inserts, because an insert can bring
// them back to life; entries with one key and different ordinals lie side by side, so the record of
// that key is not locked by passing a dead one. Entries that SKIP LOCKED leaves out stay out of the
// range, with the way before them.
#include "mvcc/row/version_cursor_impl.h"

namespace rowan {

void VersionCursor::Impl::StartCover(Bytes key, Bytes looked_key) {
  covering = locking() && options.lock_gaps;
  if (!covering) return;
  covered_to_end = false;
  covered_unbounded = false;
  looked_unbounded = false;
  covered.assign(key.begin(), key.end());
  looked.assign(looked_key.begin(), looked_key.end());
}

void VersionCursor::Impl::StartCoverBehind(Bytes key, Bytes tree_key) {
  StartCover(key, tree_key);
  if (!covering) return;
  covered.push_back(std::byte{0});
  looked.push_back(std::byte{0});
}

void VersionCursor::Impl::StartCoverFromLast() {
  StartCover({}, {});
  covered_unbounded = true;
  looked_unbounded = true;
}

Bytes VersionCursor::Impl::Behind(Bytes key) {
  behind_scratch.assign(key.begin(), key.end());
  behind_scratch.push_back(std::byte{0});
  return behind_scratch;
}

Status VersionCursor::Impl::CoverWay(bool on_entry, bool at_end, bool* settled) {
  const bool stays_in_leaf =
      on_entry && (forward ? cursor->slot() > 0 : cursor->slot() + 1 < cursor->leaf_entries());
  if (at_end) {
    *settled = stays_in_leaf || covered_to_end;
    return covered_to_end ? Status::Ok() : CoverToEnd();
  }
  const Bytes value = cursor->value();
  const bool has_ordinal = !index->clustered && !value.empty() &&
                           (static_cast<uint8_t>(value[0]) & kEntryHasOrdinal) != 0;
  const Bytes key = StripOrdinal(cursor->key(), has_ordinal);
  *settled = stays_in_leaf || (forward ? CompareBytes(covered, key) >= 0
                                       : !covered_unbounded &&
                                             CompareBytes(covered, Behind(key)) <= 0);
  return *settled ? Status::Ok() : CoverGapBefore(key);
}

Status VersionCursor::Impl::CoverToEnd() {
  RangePiece piece{.low = covered, .high = end_key, .unbounded = !has_end};
  if (!forward) piece = {.low = {}, .high = covered, .unbounded = covered_unbounded};
  covered_to_end = true;
  if (!piece.unbounded && CompareBytes(piece.low, piece.high) >= 0) return Status::Ok();
  return manager->locks()->LockGap(txn, index->id(), lock_mode(), piece);
}

Status VersionCursor::Impl::CoverGapBefore(Bytes key) {
  const Bytes near_end = forward ? key : Behind(key);
  const RangePiece piece = forward
                               ? RangePiece{.low = covered, .high = near_end}
                               : RangePiece{.low = near_end, .high = covered,
                                            .unbounded = covered_unbounded};
  if (!piece.unbounded && CompareBytes(piece.low, piece.high) >= 0) return Status::Ok();
  const Status status = manager->locks()->LockGap(txn, index->id(), lock_mode(), piece);
  covered.assign(near_end.begin(), near_end.end());
  covered_unbounded = false;
  return status;
}

RangePiece VersionCursor::Impl::PieceTo(Bytes key, GapEdge edge) {
  const Bytes behind = Behind(key);
  RangePiece piece{.low = key, .high = behind, .gap_edge = edge};
  if (forward && CompareBytes(covered, key) < 0) piece.low = covered;
  if (!forward && CompareBytes(covered, behind) > 0) piece.high = covered;
  piece.unbounded = !forward && covered_unbounded;
  return piece;
}

void VersionCursor::Impl::NoteCovered(Bytes key) {
  const Bytes tree_key = cursor->key();
  covered_unbounded = false;
  looked_unbounded = false;
  covered.assign(key.begin(), key.end());
  looked.assign(tree_key.begin(), tree_key.end());
  if (!forward) return;
  covered.push_back(std::byte{0});
  looked.push_back(std::byte{0});
}

Status VersionCursor::Impl::LockCovered(const LockTarget& target, bool own, WaitPolicy policy) {
  LockTable* locks = manager->locks();
  const RangePiece piece = PieceTo(target.key, GapEdge::kNone);
  const Status status = own ? locks->LockGap(txn, target.index, lock_mode(), piece)
                            : locks->LockScanned(txn, target, lock_mode(), policy, piece);
  if (!status.ok()) return status;
  NoteCovered(target.key);
  return Status::Ok();
}

Status VersionCursor::Impl::CoverDead(Bytes key) {
  const RangePiece piece = PieceTo(key, forward ? GapEdge::kLast : GapEdge::kFirst);
  const Status status = manager->locks()->LockGap(txn, index->id(), lock_mode(), piece);
  if (!status.ok()) return status;
  NoteCovered(key);
  return Status::Ok();
}

Status VersionCursor::Impl::CoverAbsent(Bytes key, Status found) {
  if (!found.Is(Code::kNotFound) && !found.Is(Code::kEndOfRange)) return found;
  if (cursor->latched()) cursor->Unlatch();
  const RangePiece piece{.low = key, .high = Behind(key), .gap_edge = GapEdge::kLast};
  const Status status = manager->locks()->LockGap(txn, index->id(), lock_mode(), piece);
  if (!status.ok()) return status;
  return Exact(key, cursor->SeekAtLeast(key));
}

Status VersionCursor::Impl::SeekLooked() {
  if (forward) return looked.empty() ? cursor->SeekFirst() : cursor->SeekAtLeast(looked);
  return looked_unbounded ? cursor->SeekLast() : cursor->SeekBefore(looked);
}

}  // namespace rowan
