// SPDX-License-Identifier: GPL-2.0-only
// UndoApplier: how rollback and purge handle one undo record. Supplied by mvcc/row/row_undo.h.
// Thread safety: all members.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/txn/old_snapshots.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn/undo_pointer.h"
#include "mvcc/undo/undo_page.h"
#include "mvcc/undo/undo_share.h"

namespace rowan {

class UndoApplier {
 public:
  virtual ~UndoApplier() = default;
  /// Undoes one record inside its own mini-transaction (which also calls UndoLog::DropUndone). A
  /// record that stands for many pages spends the budget on them, at least one: kBusy with an
  /// exhausted budget (WorkBudget::Left) means that the record is still there, to be continued.
  virtual Status Undo(Txn* txn, const UndoRecordCopy& record, UndoPointer pointer,
                      WorkBudget* budget) = 0;
  /// How workers may share the rollback of a transaction with this record.
  [[nodiscard]] virtual UndoShare ShareOf(const UndoRecordInPage& record) const = 0;
  /// Removes what a committed change left behind. Must be harmless when repeated. The budget as
  /// above.
  virtual Status Purge(TxnId txn, const UndoRecordCopy& record, WorkBudget* budget) = 0;
  /// Removes what `txn`, which committed with `csn`, deleted and no snapshot sees, though those in
  /// `old` do not see the deletion. Purge comes to the same record later in any case.
  virtual Status PurgeUnseen(TxnId txn, Csn csn, const UndoRecordCopy& record,
                             const OldSnapshots& old) = 0;
};

}  // namespace rowan
