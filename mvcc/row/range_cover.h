// SPDX-License-Identifier: GPL-2.0-only
// RangeCover: the key ranges of a locking scan (ReadOptions::lock_gaps). Why no insert slips past
// one:
//
// An insert checks others' gap locks under the exclusive latch of the leaf its entry goes to. A
// scan steps from one entry to the next; what lies between them is the way. If both are on the
// latched leaf, the scan locks the way and the entry under that latch: an insert into the way
// either is in the leaf already, and would be the next entry, or comes later and finds the range.
// If the way may cross another leaf, which the scan has released, the scan first locks the way and
// then looks again from where it was: it now finds what was inserted before, and nothing more can
// be inserted. Two neighbouring slots prove that a way stays in a leaf.
//
// Dead entries are passed, but with their key locked against inserts, because an insert can bring
// them back to life; entries with one key and different repeats lie side by side, so the record of
// that key is not locked by passing a dead one. Entries that SKIP LOCKED omits stay out of the
// range, with the way before them.
// Thread safety: one thread.
#pragma once

#include <vector>

#include "mvcc/lock/lock_key.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

class RangeCover {
 public:
  explicit RangeCover(ScanState* scan) : scan_(scan) {}

  /// The scan locks no ranges until it starts.
  void Stop() { covering_ = false; }
  [[nodiscard]] bool covering() const { return covering_; }
  void Start(const ScanStart& start);
  /// Before the entry under the tree cursor (`on_entry`) is examined, or the scan ends (`at_end`):
  /// makes sure that the way there is locked, or will be with the entry under the present latch.
  /// `settled` false: the way crossed leaves that are no longer latched; look again.
  Status LockWay(bool on_entry, bool at_end, bool* settled);
  Status LockGapBefore(Bytes key);
  /// Locks the live entry under the tree cursor and the way to it. `own`: no other transaction can
  /// hold it.
  Status LockEntry(const LockTarget& target, bool own, WaitPolicy policy);
  Status LockDead(Bytes key);  ///< the way, and the key against inserts
  /// No entry has this key: locks it against inserts.
  Status LockAbsent(Bytes key);
  /// Seeks the first position beyond all that was examined.
  Status SeekLooked();
  /// The scan is done with the entry under the tree cursor, which has this key.
  void NoteCovered(Bytes key);

 private:
  Status LockToEnd();
  /// The key with a zero byte after it, valid until the next call.
  Bytes Behind(Bytes key);
  /// From the end of what is covered up to and including the entry with this key.
  RangePiece PieceTo(Bytes key, GapEdge edge);

  ScanState* const scan_;
  // For a scan that locks ranges. Forward: all keys from where it started up to `covered_` are
  // locked, and all tree keys before `looked_` were looked at. Backward: from `covered_` on, from
  // `looked_` on.
  bool covering_ = false;
  bool covered_to_end_ = false;
  bool covered_unbounded_ = false;  ///< backward: nothing is covered yet, `covered_` is void
  bool looked_unbounded_ = false;   ///< nothing was looked at yet, `looked_` is void
  std::vector<std::byte> covered_;
  std::vector<std::byte> looked_;
  std::vector<std::byte> behind_scratch_;
};

}  // namespace rowan
