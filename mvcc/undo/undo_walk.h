// SPDX-License-Identifier: GPL-2.0-only
// UndoWalk: steps over the records of an undo stream, oldest first, as purge takes them: page by
// page, copied out under a shared latch, so nothing is latched while a record is processed.
// Thread safety: pure functions of their arguments. The caller keeps the pages from being freed.
#pragma once

#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/page_guard.h"
#include "mvcc/undo/undo_page.h"
#include "mvcc/undo/undo_space.h"

namespace rowan {

/// Records of one transaction on one page. Reused between pages, so that a warm worker does not
/// allocate.
struct UndoRun {
  std::vector<std::byte> bytes;
  UndoRecordCopy record;   ///< for callers that hand them out
  PageNumber next;         ///< where the transaction continues; kNoPage: it ends here
  bool resumable = false;  ///< a restart can begin here, within the transaction
};

/// While `position` is at the end of a page with a successor, moves it to that one's first record.
/// `guard` holds its page shared, before and after.
Status MoveToNextUndoPage(UndoSpace* space, UndoPointer* position, PageGuard* guard);
/// The transaction header at `position`, where there must be one.
Status ReadTxnHeader(UndoSpace* space, const PageGuard& guard, UndoPointer position,
                     TxnHeader* header, uint16_t* length);
/// The records from `from` on to the next header or to the end of the page.
Status CopyUndoRun(UndoSpace* space, UndoPointer from, UndoRun* run);

}  // namespace rowan
