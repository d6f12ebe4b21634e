// SPDX-License-Identifier: GPL-2.0-only
// The steps of a table cursor, going on behind damage where that is asked for. See salvage.h.
#include "engine/table_cursor.h"

namespace rowan {

void TableCursor::ForgetSalvage() {
  if (salvage_ == nullptr) return;
  if (cursor_open_) cursor_.Suspend();
  if (clustered_open_) clustered_.Close();
  cursor_open_ = false;
  clustered_open_ = false;
  salvage_->Forget();
}

void TableCursor::NotePlace(const Bytes* from) {
  if (from == nullptr) {
    place_before_ = cursor_.place();
  } else {
    place_before_.kind = from->empty() ? ScanPlace::Kind::kNowhere : ScanPlace::Kind::kInGap;
    place_before_.key.assign(from->begin(), from->end());
  }
}

Result<bool> TableCursor::FindDetour(uint32_t index) {
  return salvage_->FindDetour(table_, index, [this] { return session_->interrupted(); });
}

Status TableCursor::PassDamage(Direction direction, void* record) {
  const Result<bool> found = FindDetour(index_);
  if (!found.ok()) return found.status();
  // Opened anew with the detour.
  if (cursor_open_) cursor_.Suspend();
  cursor_open_ = false;
  if (const Status opened = OpenCursor(); !opened.ok()) return opened;
  ByteBuffer& key = place_before_.key;
  cursor_.Stay(place_before_.kind, key);
  Status status = StepUntilRow(cursor_.Step(direction, &view_), direction, record);
  // What is wrong is in a leaf that can be read: it is left as a whole, and with it its neighbours
  // that cannot be come to.
  const bool forward = direction == Direction::kForward;
  const LeafDirectory* const leaves = salvage_->DetourOf(index_);
  while (Salvages(status)) {
    const LeafDirectory::Leaf* next = nullptr;
    if (forward) {
      next = key.empty() ? leaves->First() : leaves->After(key);
    } else {
      next = key.empty() ? leaves->Last() : leaves->Before(key);
    }
    if (next == nullptr) {
      status = Status(Code::kEndOfRange);
      break;
    }
    const Bytes first = AsBytes(next->first_key);
    key.assign(first.begin(), first.end());
    salvage_->NoteRow();
    status = StepUntilRow(cursor_.Seek(direction, key, &view_), direction, record);
  }
  if (!status.ok()) cursor_.StayOutside(direction);
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
