// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/read_note.h"

namespace rowan {

Status ReadNote::StartForward(Bytes low, Bytes place) {
  const ReadPiece whole{.low = low,
                        .high = scan_->has_end ? Bytes(scan_->end_key) : Bytes(),
                        .unbounded = !scan_->has_end};
  if (scan_->locking()) return Open(whole, true);
  Grow(whole, place, true);
  return Status::Ok();
}

Status ReadNote::StartBackward(const Bytes* high, Bytes place) {
  const ReadPiece whole{
      .low = {}, .high = high == nullptr ? Bytes() : *high, .unbounded = high == nullptr};
  if (scan_->locking()) return Open(whole, false);
  Grow(whole, place, false);
  return Status::Ok();
}

Status ReadNote::Open(const ReadPiece& piece, bool forward) {
  forward_ = forward;
  growing_ = false;
  low_.assign(piece.low.begin(), piece.low.end());
  high_.assign(piece.high.begin(), piece.high.end());
  unbounded_ = piece.unbounded;
  if (!unbounded_ && CompareBytes(low_, high_) >= 0) return Status::Ok();
  number_ = scan_->txn->serial->number;
  read_ = {};
  const Status status =
      scan_->manager->serial()->Open(scan_->txn, scan_->index->id(), this->piece(), &read_);
  open_ = noted_ = status.ok() && scan_->txn->serial != nullptr;
  return status;
}

void ReadNote::Grow(const ReadPiece& start, Bytes place, bool forward) {
  forward_ = forward;
  open_ = growing_ = true;
  noted_ = false;
  number_ = scan_->txn->serial->number;
  read_ = {};
  low_.assign(start.low.begin(), start.low.end());
  high_.assign(start.high.begin(), start.high.end());
  unbounded_ = start.unbounded;
  place_.assign(place.begin(), place.end());
  place_unbounded_ = !forward && unbounded_;
}

Status ReadNote::StartAgain() {
  const BatchItem& item = scan_->items.back();
  const Bytes key = StripRepeat(scan_->KeyOf(item), item.has_repeat);
  if (scan_->forward) {
    return Open({.low = key,
                 .high = scan_->has_end ? Bytes(scan_->end_key) : Bytes(),
                 .unbounded = !scan_->has_end},
                true);
  }
  std::vector<std::byte> behind(key.begin(), key.end());
  behind.push_back(std::byte{0});
  return Open({.low = {}, .high = behind}, false);
}

void ReadNote::LetGo() {
  open_ = growing_ = false;
  Txn* const txn = scan_->txn;
  if (txn == nullptr || txn->serial == nullptr || txn->rollback.required != Code::kOk) return;
  txn->rollback.required = Code::kOutOfMemory;
}

void ReadNote::Shorten() {
  open_ = growing_ = false;
  const SerialTxn* serial = scan_->txn->serial;
  if (!noted_ || serial == nullptr || serial->number != number_) return;
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
  scan_->manager->serial()->Close(read_, piece());
}

// --- notes that grow ---

Status ReadNote::Cover(Status* positioned) {
  for (;;) {
    const bool on_entry = positioned->ok();
    if (!on_entry && !positioned->Is(Code::kEndOfRange)) return Status::Ok();
    FindReach(on_entry);
    if (Reaches()) return Status::Ok();
    const bool enough = on_entry && EntryBeforeIsInLeaf();
    const Status noted = NoteReach();
    if (!noted.ok() || enough || scan_->txn->serial == nullptr) return noted;
    *positioned = LookAgain();
  }
}

void ReadNote::FindReach(bool on_entry) {
  reach_.clear();
  reach_unbounded_ = false;
  if (forward_) {
    FindHighReach(on_entry);
  } else if (on_entry) {
    FindLowReach();
  }
}

void ReadNote::FindLowReach() {
  const NodeView leaf = scan_->cursor->View();
  const Bytes prefix = leaf.prefix();
  const Bytes suffix = leaf.Suffix(0);
  reach_.assign(prefix.begin(), prefix.end());
  reach_.insert(reach_.end(), suffix.begin(), suffix.end());
  const Bytes value = leaf.Value(0);
  const bool has_repeat = !scan_->index->clustered && !value.empty() &&
                          (static_cast<uint8_t>(value[0]) & kEntryHasRepeat) != 0;
  reach_.resize(StripRepeat(reach_, has_repeat).size());
}

void ReadNote::FindHighReach(bool on_entry) {
  reach_unbounded_ = !scan_->has_end;
  if (scan_->has_end) reach_ = scan_->end_key;
  if (!on_entry) return;
  const NodeView leaf = scan_->cursor->View();
  if (leaf.rightmost() || !leaf.has_high_key()) return;
  const Bytes high = leaf.high_key();
  if (!reach_unbounded_ && CompareBytes(high, reach_) >= 0) return;
  reach_unbounded_ = false;
  reach_.assign(high.begin(), high.end());
}

bool ReadNote::Reaches() const {
  if (!noted_) return false;
  if (!forward_) return CompareBytes(low_, reach_) <= 0;
  return unbounded_ || (!reach_unbounded_ && CompareBytes(high_, reach_) >= 0);
}

Status ReadNote::NoteReach() {
  if (forward_) {
    high_.swap(reach_);
    unbounded_ = reach_unbounded_;
  } else {
    low_.swap(reach_);
  }
  noted_ = true;
  if (!unbounded_ && CompareBytes(low_, high_) >= 0) return Status::Ok();
  if (scan_->txn->serial == nullptr) return Status::Ok();
  return scan_->manager->serial()->Open(scan_->txn, scan_->index->id(), piece(), &read_);
}

bool ReadNote::EntryBeforeIsInLeaf() const {
  return forward_ ? scan_->cursor->slot() > 0
                  : scan_->cursor->slot() + 1 < scan_->cursor->leaf_entries();
}

Status ReadNote::LookAgain() {
  Cursor* cursor = &*scan_->cursor;
  if (cursor->latched()) cursor->Unlatch();
  if (forward_) return place_.empty() ? cursor->SeekFirst() : cursor->SeekAtLeast(place_);
  return place_unbounded_ ? cursor->SeekLast() : cursor->SeekBefore(place_);
}

void ReadNote::Pass() {
  const Bytes key = scan_->cursor->key();
  place_.assign(key.begin(), key.end());
  place_unbounded_ = false;
  if (forward_) place_.push_back(std::byte{0});
}

}  // namespace rowan
