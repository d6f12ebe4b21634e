// SPDX-License-Identifier: GPL-2.0-only
// UndoPurge: purge of a stream: hands out the records of its oldest committed transaction and frees
// the pages it has passed, every few pages and at the end of each unit of work. That also logs how
// far purge has come. A long transaction is purged by all workers that are free (purge_window.h).
// Progress within the last pages is not logged: after a crash their records are purged once more,
// which finds nothing to do. Records that must not run twice (freed blobs, dropped files) are
// marked in the page as soon as they have run.
// Thread safety: all members; a stream belongs to one thread at a time, or to those in its window.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/undo/undo_streams.h"
#include "mvcc/undo/undo_walk.h"

namespace rowan {

class UndoPurge {
 public:
  /// Called for each record, no latch held.
  using Visit = FunctionRef<Status(TxnId txn, const UndoRecordCopy& record)>;
  enum class Step : uint8_t {
    kNothing,      ///< nothing that may be purged
    kPart,         ///< the budget ran out within a transaction
    kTransaction,  ///< the rest of one transaction
    kShared,       ///< part of a large transaction that others may still be working on
  };

  explicit UndoPurge(UndoStreams* streams) : streams_(streams), space_(streams->space()) {}

  /// For stream number `stream` hands out the records of its oldest committed transaction if its
  /// CSN is below `horizon`, and frees the pages passed. Stops after any record when the budget is
  /// used up; the next call goes on there. Freed pages are remembered across a restart.
  Result<Step> PurgeOldest(uint32_t stream, Csn horizon, Visit visit, WorkBudget* budget);
  /// The same for a large transaction of this stream that other workers share.
  Result<Step> Help(uint32_t stream, Visit visit, WorkBudget* budget);
  /// Purges the stream of a committed transaction to its end, or until the budget is used up.
  /// REQUIRES: it is not released yet, and no other thread purges these streams.
  Status PurgeOwn(const Txn* txn, Visit visit, WorkBudget* budget);

 private:
  Result<Step> PurgeAcquired(UndoStream* stream, Csn horizon, Visit visit, WorkBudget* budget,
                             bool* shared);
  Result<Step> PurgePages(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run);
  Result<bool> EnterOldest(UndoStream* stream, Csn horizon);
  Status VisitRun(UndoStream* stream, UndoPointer* position, Visit visit, WorkBudget* budget,
                  UndoRun* run);
  Status VisitRecords(UndoStream* stream, UndoPointer* position, Visit visit, WorkBudget* budget,
                      UndoRun* run, uint64_t* visited);
  Result<Step> PurgeShared(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run);
  Status PurgeWindowPages(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run);
  Result<Step> CloseWindow(UndoStream* stream, const PurgeWindow::Outcome& outcome);
  void EndTransaction(UndoStream* stream);
  Status NoteDamage(UndoStream* stream, Status status);
  Status MarkDone(PageNumber page, uint16_t offset, UndoType type);
  Status FreeBehind(UndoStream* stream);

  UndoStreams* const streams_;
  UndoSpace* const space_;
};

}  // namespace rowan
