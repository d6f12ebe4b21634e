// SPDX-License-Identifier: GPL-2.0-only
// ReadNote: what a cursor's scan tells optimistic serializability (mvcc/lock/serial_txns.h) that it
// reads. For other transactions each call is one test of a pointer.
//
// Rule: before a leaf is latched, or under the latch of the one whose keys were not noted before, a
// note covers all that is read by looking there: from where the scan stood up to the end of that
// leaf. So a change of a key in between finds the note, or was made before the scan met its leaf.
//   - A consistent scan that comes to a leaf beyond its note lets the note grow to the end of that
//     leaf. If the entry before is in the leaf, too, no other leaf was passed, and the scan goes
//     on; else it looks once more from where it stood. So it notes at most a leaf more than it
//     returns.
//   - Locking scans, and those that count, note their whole range beforehand.
// When a scan ends or starts again, what it did not come to is taken back.
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

  /// A scan that starts here, forwards as far as its end key. kDeadlock, as for all of these.
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

  /// Memory ran out: what is noted may not reach as far as what was read.
  void LetGo();

  /// The note grows with the scan: Cover at each leaf, Pass before its latch is given back.
  [[nodiscard]] bool growing() const { return growing_; }
  /// `*positioned`: the tree cursor's way to the next entry, which may be looked for once more.
  Status Cover(Status* positioned);
  /// The scan has taken all up to the entry under the tree cursor.
  void Pass();

  /// After a part of a scan: kDeadlock if what it met forbids the transaction to go on.
  [[nodiscard]] Status Check(Status status) const {
    if (scan_->txn->serial == nullptr || scan_->txn->rollback.required == Code::kOk) return status;
    return TxnManager::CheckUsable(*scan_->txn);
  }

 private:
  Status StartScan(const ScanStart& start);
  Status Open(const ReadPiece& piece);
  /// What a scan forwards from `low` on reads.
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
  uint64_t number_ = 0;  ///< of the transaction: it may have ended since
  OpenRead read_;
  // What is noted; while nothing is, of a note that grows, where the scan starts.
  bool noted_ = false;
  bool unbounded_ = false;
  std::vector<std::byte> low_;
  std::vector<std::byte> high_;
  // Of one that grows: the bound to reach in the direction of the scan, and the tree key from where
  // to look on.
  std::vector<std::byte> reach_;
  bool reach_unbounded_ = false;
  std::vector<std::byte> place_;
  bool place_unbounded_ = false;
};

}  // namespace rowan
