// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_walk.h"

#include <utility>

#include "base/assertions.h"

namespace rowan {

Status MoveToNextUndoPage(UndoSpace* space, UndoPointer* position, PageGuard* guard) {
  ROWAN_DCHECK(guard->held() && guard->id().page == position->page);
  while (position->offset == UndoFreeOf(guard->page())) {
    const PageNumber next = UndoNextOf(guard->page());
    if (next == kNoPage) break;
    guard->Release();
    Result<PageGuard> following = space->FixShared(next);
    if (!following.ok()) return following.status();
    *guard = std::move(following.value());
    ROWAN_DCHECK(next != position->page);
    *position = {next, UndoRecordsBegin(guard->page())};
  }
  return Status::Ok();
}

Status ReadTxnHeader(UndoSpace* space, const PageGuard& guard, UndoPointer position,
                     TxnHeader* header, uint16_t* length) {
  ROWAN_DCHECK(guard.held() && guard.id().page == position.page);
  UndoRecordInPage record;
  if (!ParseUndoRecord(guard.page(), position.offset, UndoFreeOf(guard.page()), &record) ||
      !ParseTxnHeader(record, header)) {
    return space->Damage(position.page, "an undo stream does not go on with a transaction");
  }
  *length = record.length;
  return Status::Ok();
}

Status CopyUndoRun(UndoSpace* space, UndoPointer from, UndoRun* run) {
  Result<PageGuard> guard = space->FixShared(from.page);
  if (!guard.ok()) return guard.status();
  const std::byte* bytes = guard->page();
  const size_t free = UndoFreeOf(bytes);
  size_t stop = from.offset;
  bool found_header = false;
  UndoRecordInPage record;
  while (stop < free) {
    if (!ParseUndoRecord(bytes, stop, free, &record)) {
      return space->Damage(from.page, "an undo record is damaged");
    }
    found_header = record.type == UndoType::kTxnHeader;
    if (found_header) break;
    stop += record.length;
  }
  ROWAN_DCHECK(from.offset <= stop && stop <= free);
  run->bytes.assign(bytes + from.offset, bytes + stop);
  run->next = found_header ? kNoPage : UndoNextOf(bytes);
  run->resumable = HasUndoSummary(bytes);
  return Status::Ok();
}

}  // namespace rowan
