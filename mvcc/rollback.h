// SPDX-License-Identifier: GPL-2.0-only
// Rollback: undoes the records of one transaction, newest first, each in its own group; or those of
// a long one by several workers (mvcc/undo/rollback_window.h). Ends no transaction: that is
// TxnManager's.
// Thread safety: all members; a transaction is passed by the thread that owns it.
#pragma once

#include <memory>
#include <vector>

#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/rollback_window.h"
#include "mvcc/undo/undo_applier.h"
#include "mvcc/undo/undo_log.h"

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

  /// What is left of a transaction that workers shared, by the last one of them.
  using SharedOutcome = RollbackWindow::Outcome;
  /// Some of it, with helpers that come. Takes the transaction, which is active, unless another
  /// one is shared just now; it is in `outcome` of the worker that leaves last. No units in there:
  /// its newest record has to be undone by one alone.
  void Share(std::unique_ptr<Txn>* txn, WorkBudget* budget, SharedOutcome* outcome);
  /// Some of what others share; waits a moment for that. `outcome` as above.
  void Help(WorkBudget* budget, SharedOutcome* outcome);

 private:
  /// The caller is inside of the window.
  void RollBackUnits(Txn* txn, WorkBudget* budget, SharedOutcome* outcome);
  Status RollBackSlice(Txn* txn, const UndoSlice& slice, WorkBudget* budget);
  Status RollBackUnit(Txn* txn, const UndoUnit& unit, WorkBudget* budget);

  UndoLog* const undo_;
  UndoApplier* applier_ = nullptr;
  RollbackWindow window_;
};

}  // namespace rowan
