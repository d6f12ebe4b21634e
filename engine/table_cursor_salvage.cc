// SPDX-License-Identifier: GPL-2.0-only
// The steps of a table cursor, going on behind damage where that is asked for. See salvage.h.
#include "engine/table_cursor.h"

namespace rowan {

void TableCursor::ForgetSalvage() {
  if (salvage_ == nullptr) return;
  if (cursor_open_) cursor_.Close();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  salvage_->Forget();
}

void TableCursor::NotePlace(const Bytes* from) {
  if (from != nullptr) {
    place_key_.assign(from->begin(), from->end());
    place_is_read_ = false;
    return;
  }
  const bool on_entry = place_ == Place::kCursor && cursor_open_;
  const Bytes key = on_entry ? view_.key : Bytes(resume_key_);
  place_is_read_ = on_entry || place_ == Place::kKey;
  if (on_entry || place_ == Place::kKey || place_ == Place::kGap) {
    place_key_.assign(key.begin(), key.end());
  } else {
    place_key_.clear();
  }
}

Result<bool> TableCursor::FindDetour(uint32_t index) {
  return salvage_->FindDetour(table_, index, [this] { return session_->interrupted(); });
}

Status TableCursor::PassDamage(bool forward, void* record) {
  const Result<bool> found = FindDetour(index_);
  if (!found.ok()) return found.status();
  // Opened anew with the detour.
  if (cursor_open_) cursor_.Close();
  cursor_open_ = false;
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  Status status;
  if (forward) {
    status = place_key_.empty() ? cursor_.SeekFirst(&view_)
             : place_is_read_   ? cursor_.SeekAfter(place_key_, &view_)
                                : cursor_.SeekAtLeast(place_key_, &view_);
  } else {
    status = place_key_.empty() ? cursor_.SeekLast(&view_) : cursor_.SeekBefore(place_key_, &view_);
  }
  status = StepUntilRow(status, forward, record);
  // What is wrong is in a leaf that can be read: it is left as a whole, and with it its neighbours
  // that cannot be come to.
  const LeafDirectory* const leaves = salvage_->DetourOf(index_);
  while (Salvages(status)) {
    const LeafDirectory::Leaf* next = nullptr;
    if (forward) {
      next = place_key_.empty() ? leaves->First() : leaves->After(place_key_);
    } else {
      next = place_key_.empty() ? leaves->Last() : leaves->Before(place_key_);
    }
    if (next == nullptr) {
      status = Status(Code::kEndOfRange);
      break;
    }
    const Bytes key = AsBytes(next->first_key);
    place_key_.assign(key.begin(), key.end());
    salvage_->NoteRow();
    status =
        forward ? cursor_.SeekAtLeast(place_key_, &view_) : cursor_.SeekBefore(place_key_, &view_);
    status = StepUntilRow(status, forward, record);
  }
  if (!status.ok()) StayOutside(forward);
  return status;
}

bool TableCursor::PassesRow(Status* status, void* record) {
  if (!Salvages(*status)) [[likely]]
    return false;
  if (index_ != 0) {
    const Result<bool> found = FindDetour(0);
    if (!found.ok()) {
      *status = found.status();
      return false;
    }
    if (found.value()) {
      if (clustered_open_) clustered_.Close();
      clustered_open_ = false;
      *status = PutRow(record);
      if (!Salvages(*status)) return false;
    }
  }
  salvage_->NoteRow();
  return true;
}

}  // namespace rowan
