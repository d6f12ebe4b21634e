// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/row/read_note.h"

namespace rowan {

Status ReadNote::StartScan(const ScanStart& start) {
  const bool from_end = start.from == ScanStart::From::kEnd;
  const ReadPiece whole = scan_->forward()
                              ? ToEnd(start.key)
                              : ReadPiece{.low = {}, .high = start.key, .unbounded = from_end};
  if (scan_->locking()) return Open(whole);
  SetPiece(whole);
  open_ = growing_ = true;
  noted_ = false;
  place_.assign(start.tree_key.begin(), start.tree_key.end());
  place_unbounded_ = from_end;
  return Status::Ok();
}

void ReadNote::SetPiece(const ReadPiece& piece) {
  low_.assign(piece.low.begin(), piece.low.end());
  high_.assign(piece.high.begin(), piece.high.end());
  unbounded_ = piece.unbounded;
  number_ = scan_->txn->serial->number;
  read_ = {};
}

Status ReadNote::Open(const ReadPiece& piece) {
  SetPiece(piece);
  growing_ = false;
  if (!unbounded_ && CompareBytes(low_, high_) >= 0) return Status::Ok();
  const Status status =
      scan_->manager->serial()->Open(scan_->txn, scan_->index->id(), this->piece(), &read_);
  open_ = noted_ = status.ok() && scan_->txn->serial != nullptr;
  return status;
}

Status ReadNote::StartAgain() {
  const Bytes key = scan_->PlainKeyOf(scan_->items.back());
  if (scan_->forward()) return Open(ToEnd(key));
  std::vector<std::byte> behind(key.begin(), key.end());
  behind.push_back(std::byte{0});
  return Open({.low = {}, .high = behind});
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
  if (scan_->on_entry()) {
    const Bytes key = scan_->PlainKeyOf(scan_->items[scan_->position]);
    if (scan_->forward()) {
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
  if (scan_->forward()) {
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
  reach_unbounded_ = !scan_->has_end();
  if (scan_->has_end()) reach_ = scan_->end_key;
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
  if (!scan_->forward()) return CompareBytes(low_, reach_) <= 0;
  return unbounded_ || (!reach_unbounded_ && CompareBytes(high_, reach_) >= 0);
}

Status ReadNote::NoteReach() {
  if (scan_->forward()) {
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
  return scan_->forward() ? scan_->cursor->slot() > 0
                          : scan_->cursor->slot() + 1 < scan_->cursor->leaf_entries();
}

Status ReadNote::LookAgain() {
  if (scan_->cursor->latched()) scan_->cursor->Unlatch();
  const Bytes place = place_;
  return scan_->cursor->Seek(scan_->direction, place_unbounded_ ? nullptr : &place);
}

void ReadNote::Pass() {
  const Bytes key = scan_->cursor->key();
  place_.assign(key.begin(), key.end());
  place_unbounded_ = false;
  if (scan_->forward()) place_.push_back(std::byte{0});
}

}  // namespace rowan
