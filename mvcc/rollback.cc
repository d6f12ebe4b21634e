// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/rollback.h"

#include <atomic>

#include "base/assertions.h"

namespace rowan {

Status Rollback::DownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget) {
  UndoRecordCopy record;
  UndoPointer pointer;
  for (;;) {
    if (txn->undo_records > position.records && !budget->Spend()) return Status(Code::kBusy);
    Status status = undo_->ReadLast(txn, position, &record, &pointer);
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    const uint64_t records = txn->undo_records;
    status = applier_->Undo(txn, record, pointer);
    if (!status.ok()) return status;
    ROWAN_CHECK(txn->undo_records < records);  // the applier dropped the record in its own group
  }
}

Status Rollback::Everything(Txn* txn, WorkBudget* budget) {
  if (txn->state == TxnState::kPrepared) {
    const Status status = undo_->CancelPrepare(txn);
    if (!status.ok()) return status;
    std::atomic_ref(txn->state).store(TxnState::kActive, std::memory_order_relaxed);
  }
  const Status status = DownTo(txn, UndoPosition{}, budget);
  if (!status.ok()) return status;
  return undo_->FinishRollback(txn);
}

}  // namespace rowan
