// SPDX-License-Identifier: GPL-2.0-only
// ReadNote: what a cursor's scan reports as read to optimistic serializability
// (mvcc/lock/serial_txns.h). For other transactions each call is one test of a pointer.
//
// Rule: before a leaf is latched (or its version read, to copy a row without a latch), or under the
// latch of the only one whose keys are not yet noted, a note covers all that is read there: from
// where the scan stood to the end of that leaf. So a change of a key in between finds the note, or
// was made before the scan reached its leaf.
//   - A consistent scan that reaches a leaf beyond its note extends the note to the end of that
//     leaf. If the entry before is in the leaf, too, no other leaf was passed, and the scan goes
//     on; else it looks once more from where it stood. So it notes at most one leaf more than it
//     returns.
//   - Locking scans, and those that count, note their whole range beforehand.
// When a scan ends or starts again, the part it did not reach is taken back.
// Thread safety: one thread.
#pragma once

#include <cstdint>
#include <vector>

#include "mvcc/lock/read_ranges.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

class ReadNote {
 public:
  explicit ReadNote(ScanState* scan) : scan_(scan) {}

  /// A scan that starts here, forwards up to its end key. kDeadlock, as for all of these.
  Status Start(const ScanStart& start) {
    return scan_->txn->serial == nullptr ? Status::Ok() : StartScan(start);
  }
  /// One key, whether or not it exists.
  Status Key(Bytes key) {
    return scan_->txn->serial == nullptr
               ? Status::Ok()
               : scan_->manager->serial()->NoteKey(scan_->txn, scan_->index->id(), key);
  }
  /// [from, end); empty: no bound.
  Status Range(Bytes from, Bytes end) {
    if (scan_->txn->serial == nullptr) return Status::Ok();
    return Open({.low = from, .high = end, .unbounded = end.empty()});
  }
  /// The scan goes on after Stop.
  Status GoOn() { return scan_->txn->serial == nullptr || open_ ? Status::Ok() : StartAgain(); }
  /// The place of the scan is still known.
  void Stop() {
    if (open_) Shorten();
  }

  /// Memory ran out: the note may not cover all that was read.
  void LetGo();

  /// The note grows with the scan: Cover at each leaf, Pass before its latch is released.
  [[nodiscard]] bool growing() const { return growing_; }
  /// `*positioned`: the status of the tree cursor's move to the next entry, which may be repeated.
  Status Cover(Status* positioned);
  /// The scan has taken all up to the entry under the tree cursor.
  void Pass();

  /// After a part of a scan: kDeadlock if what it met forbids the transaction to continue.
  [[nodiscard]] Status Check(Status status) const {
    if (scan_->txn->serial == nullptr || scan_->txn->rollback.required == Code::kOk) return status;
    return TxnManager::CheckUsable(*scan_->txn);
  }

 private:
  Status StartScan(const ScanStart& start);
  Status Open(const ReadPiece& piece);
  /// What a forward scan from `low` on reads.
  [[nodiscard]] ReadPiece ToEnd(Bytes low) const {
    return {.low = low, .high = scan_->end_key, .unbounded = !scan_->has_end()};
  }
  void SetPiece(const ReadPiece& piece);
  Status StartAgain();
  void Shorten();
  /// What the note has to reach for the latched leaf, or for the end of the scan's range.
  void FindReach(bool on_entry);
  void FindLowReach();
  void FindHighReach(bool on_entry);
  [[nodiscard]] bool Reaches() const;
  Status NoteReach();
  [[nodiscard]] bool EntryBeforeIsInLeaf() const;
  Status LookAgain();
  [[nodiscard]] ReadPiece piece() const {
    return {.low = low_, .high = high_, .unbounded = unbounded_};
  }

  ScanState* const scan_;
  bool open_ = false;
  bool growing_ = false;
  uint64_t number_ = 0;  ///< the transaction's: it may have ended since
  OpenRead read_;
  // What is noted; for a growing note with nothing noted yet, where the scan starts.
  bool noted_ = false;
  bool unbounded_ = false;
  std::vector<std::byte> low_;
  std::vector<std::byte> high_;
  // For a growing note: the bound to reach in the direction of the scan, and the tree key to resume
  // at.
  std::vector<std::byte> reach_;
  bool reach_unbounded_ = false;
  std::vector<std::byte> place_;
  bool place_unbounded_ = false;
};

}  // namespace rowan
