// SPDX-License-Identifier: GPL-2.0-only
// InvisibleVersionPurge: removes what a committed transaction deleted although open old snapshots
// do not see the deletion: where they do not see the deleted version either. No snapshot, now or
// later, sees a row or entry that came and went between two snapshots. That keeps the front of a
// queue short while a report runs.
//
// A row is examined version by version, back to the first one that every blind snapshot sees, or to
// the insert. The undo records on the way exist: none of those versions is visible to all, and the
// caller keeps the purge horizon where it is. Thread safety: all members.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "mvcc/row/row_header.h"
#include "mvcc/row/row_purge.h"
#include "mvcc/txn/old_snapshots.h"
#include "mvcc/txn_manager.h"

namespace rowan {

class InvisibleVersionPurge {
 public:
  InvisibleVersionPurge(TxnManager* manager, RowPurge* purge) : manager_(manager), purge_(purge) {}

  /// `txn` committed with `csn`, and every snapshot but those in `old` sees it.
  Status Purge(TxnId txn, Csn csn, const UndoRecordCopy& record, const OldSnapshots& old);

 private:
  Status PurgeRow(TxnId txn, const UndoRecordCopy& record, OldSnapshots* blind);
  Result<bool> IsUnseen(ClusteredHeader version, OldSnapshots* blind);
  bool RemoveSeeing(TxnId writer, OldSnapshots* blind) const;

  TxnManager* const manager_;
  RowPurge* const purge_;
};

}  // namespace rowan
