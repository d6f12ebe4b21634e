// SPDX-License-Identifier: GPL-2.0-only
// Rollback: undoes the records of one transaction, newest first, each in its own group. Ends no
// transaction: that is TxnManager's.
// Thread safety: all members; a transaction is passed by the thread that owns it.
#pragma once

#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_log.h"
#include "mvcc/undo_applier.h"

namespace rowan {

class Rollback {
 public:
  explicit Rollback(UndoLog* undo) : undo_(undo) {}
  /// Before the first rollback.
  void SetApplier(UndoApplier* applier) { applier_ = applier; }

  /// Down to the position. kBusy with an exhausted budget: the transaction is active with fewer
  /// records.
  Status DownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget);
  /// Everything, then the header: nothing of the transaction is left in the undo log. A prepared
  /// one becomes active first. kBusy as above.
  Status Everything(Txn* txn, WorkBudget* budget);

 private:
  UndoLog* const undo_;
  UndoApplier* applier_ = nullptr;
};

}  // namespace rowan
