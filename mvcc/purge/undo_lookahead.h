// SPDX-License-Identifier: GPL-2.0-only
// UndoLookahead: looks at committed transactions that purge may not process yet, because an old
// snapshot does not see them. Each record is handed out once, whatever becomes of it; the stream
// does not change, and purge reaches the same records later. The position is kept in memory: after
// a restart there are no old snapshots. Thread safety: all members; one thread works in a stream at
// a time, here or in UndoPurge.
#pragma once

#include <cstdint>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/undo/undo_streams.h"
#include "mvcc/undo/undo_walk.h"

namespace rowan {

class UndoLookahead {
 public:
  /// Called for each record, no latch held.
  using Visit = FunctionRef<Status(TxnId txn, Csn csn, const UndoRecordCopy& record)>;

  explicit UndoLookahead(UndoStreams* streams) : streams_(streams), space_(streams->space()) {}

  /// For stream number `stream`: the records after those handed out before, of transactions with a
  /// CSN below `limit`, until the budget is used up.
  Status Look(uint32_t stream, Csn limit, Visit visit, WorkBudget* budget);

 private:
  Status LookAcquired(UndoStream* stream, Csn limit, Visit visit, WorkBudget* budget);
  Result<bool> EnterNext(UndoStream* stream, Csn limit);
  Status VisitRun(UndoStream* stream, Visit visit, WorkBudget* budget, UndoRun* run);

  UndoStreams* const streams_;
  UndoSpace* const space_;
};

}  // namespace rowan
