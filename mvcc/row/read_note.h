// SPDX-License-Identifier: GPL-2.0-only
// ReadNote: what a cursor's scan tells optimistic serializability (mvcc/lock/serial_txns.h) that it
// reads. The whole piece of the index that the scan may come to is noted before the first leaf is
// latched; when the scan ends or starts anew, what it did not come to is taken back. For other
// transactions each call is one test of a pointer.
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

  /// A scan forwards from `low` on, as far as the scan's end key. kDeadlock, as for all of these.
  Status Forward(Bytes low) {
    return scan_->txn->serial == nullptr ? Status::Ok() : Start(low, nullptr);
  }
  /// Backwards, from what is before `high`; without it, from the end of the index.
  Status Backward(Bytes high) {
    return scan_->txn->serial == nullptr ? Status::Ok() : Start({}, &high);
  }
  Status BackwardFromLast() {
    return scan_->txn->serial == nullptr ? Status::Ok() : Start({}, nullptr);
  }
  /// One key, be it there or not.
  Status Key(Bytes key) { return scan_->txn->serial == nullptr ? Status::Ok() : StartKey(key); }
  /// [from, end) of a scan in this direction; empty: no bound.
  Status Range(Bytes from, Bytes end, bool forward) {
    if (scan_->txn->serial == nullptr) return Status::Ok();
    return Open({.low = from, .high = end, .unbounded = end.empty()}, forward);
  }
  /// The scan goes on after Stop.
  Status GoOn() { return scan_->txn->serial == nullptr || open_ ? Status::Ok() : StartAgain(); }
  /// The place of the scan is still known.
  void Stop() {
    if (open_) Shorten();
  }
  /// After a part of a scan: kDeadlock if what it met forbids the transaction to go on.
  [[nodiscard]] Status Check(Status status) const {
    if (scan_->txn->serial == nullptr || scan_->txn->only_rollback == Code::kOk) return status;
    return TxnManager::CheckUsable(*scan_->txn);
  }

 private:
  Status Start(Bytes low, const Bytes* high);
  Status Open(const ReadPiece& piece, bool forward);
  Status StartKey(Bytes key);
  Status StartAgain();
  void Shorten();

  ScanState* const scan_;
  bool open_ = false;
  bool forward_ = true;
  bool unbounded_ = false;
  uint64_t number_ = 0;  ///< of the transaction: it may have ended meanwhile
  OpenRead read_;
  std::vector<std::byte> low_;
  std::vector<std::byte> high_;
};

}  // namespace rowan
