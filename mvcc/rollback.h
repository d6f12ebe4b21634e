// SPDX-License-Identifier: GPL-2.0-only
// Rollback: undoes the records of one transaction, newest first, each in its own group; or those of
// a long one by several workers (mvcc/undo/rollback_window.h). Ending the transaction is left to
// TxnManager.
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

  /// Down to the position. kBusy with an exhausted budget: the transaction stays active with fewer
  /// records.
  Status DownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget);
  /// Everything, then the header: the undo log keeps nothing of the transaction. A prepared one
  /// becomes active first. kBusy as above.
  Status Everything(Txn* txn, WorkBudget* budget);

  /// What is left of a transaction that workers shared; the last one of them gets it.
  using SharedOutcome = RollbackWindow::Outcome;
  /// Rolls back some of it, with any helpers. Takes the transaction, which is active, unless
  /// another one is being shared; the worker that leaves last has it in `outcome`. If that has no
  /// units, one worker must undo the newest record alone.
  void Share(std::unique_ptr<Txn>* txn, WorkBudget* budget, SharedOutcome* outcome);
  /// Rolls back some of a shared transaction; waits a moment for one. `outcome` as above.
  void Help(WorkBudget* budget, SharedOutcome* outcome);

 private:
  /// The caller is inside the window.
  void RollBackUnits(Txn* txn, WorkBudget* budget, SharedOutcome* outcome);
  Status RollBackSlice(Txn* txn, const UndoSlice& slice, WorkBudget* budget);
  Status RollBackUnit(Txn* txn, const UndoUnit& unit, WorkBudget* budget);

  UndoLog* const undo_;
  UndoApplier* applier_ = nullptr;
  RollbackWindow window_;
};

}  // namespace rowan
