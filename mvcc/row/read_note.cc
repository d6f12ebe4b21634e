// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/read_note.h"

namespace rowan {

Status ReadNote::Start(Bytes low, const Bytes* high) {
  if (high != nullptr) return Open({.low = low, .high = *high}, scan_->forward);
  const bool unbounded = !scan_->forward || !scan_->has_end;
  return Open({.low = low, .high = scan_->end_key, .unbounded = unbounded}, scan_->forward);
}

Status ReadNote::Open(const ReadPiece& piece, bool forward) {
  forward_ = forward;
  low_.assign(piece.low.begin(), piece.low.end());
  high_.assign(piece.high.begin(), piece.high.end());
  unbounded_ = piece.unbounded;
  if (!unbounded_ && CompareBytes(low_, high_) >= 0) return Status::Ok();
  number_ = scan_->txn->serial->number;
  const Status status =
      scan_->manager->serial()->Open(scan_->txn, scan_->index->id(),
                                     {.low = low_, .high = high_, .unbounded = unbounded_}, &read_);
  open_ = status.ok() && scan_->txn->serial != nullptr;
  return status;
}

Status ReadNote::StartKey(Bytes key) {
  return scan_->manager->serial()->NoteKey(scan_->txn, scan_->index->id(), key);
}

Status ReadNote::StartAgain() {
  const BatchItem& item = scan_->items.back();
  const Bytes key = StripRepeat(scan_->KeyOf(item), item.has_repeat);
  if (scan_->forward) return Start(key, nullptr);
  std::vector<std::byte> behind(key.begin(), key.end());
  behind.push_back(std::byte{0});
  const Bytes high = behind;
  return Start({}, &high);
}

void ReadNote::Shorten() {
  open_ = false;
  const SerialTxn* serial = scan_->txn->serial;
  if (serial == nullptr || serial->number != number_) return;
  if (scan_->place == ScanState::Place::kOnItem) {
    // A step that turned around has left the batch at its first item.
    const size_t at = scan_->position < scan_->items.size() ? scan_->position : 0;
    const BatchItem& item = scan_->items[at];
    const Bytes key = StripRepeat(scan_->KeyOf(item), item.has_repeat);
    if (forward_) {
      high_.assign(key.begin(), key.end());
      high_.push_back(std::byte{0});
      unbounded_ = false;
    } else {
      low_.assign(key.begin(), key.end());
    }
  }
  scan_->manager->serial()->Close(read_, {.low = low_, .high = high_, .unbounded = unbounded_});
}

}  // namespace rowan
