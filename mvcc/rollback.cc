// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/rollback.h"

#include <atomic>
#include <chrono>

#include "base/assertions.h"

namespace rowan {
namespace {

/// How long a helper waits between two windows; the next one comes within a millisecond.
constexpr std::chrono::milliseconds kHelpWait{5};

/// Kept per thread so that a warm worker does not allocate.
struct Scratch {
  UndoUnit unit;
  UndoRecordCopy record;
  std::vector<std::byte> bytes;
};
Scratch& ThreadScratch() {
  thread_local Scratch scratch;
  return scratch;
}

}  // namespace

Status Rollback::DownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget) {
  UndoRecordCopy record;
  UndoPointer pointer;
  for (;;) {
    if (txn->undo.records > position.records && !budget->Spend()) return Status(Code::kBusy);
    Status status = undo_->ReadLast(txn, position, &record, &pointer);
    if (status.Is(Code::kEndOfRange)) return Status::Ok();
    if (!status.ok()) return status;
    const uint64_t records = txn->undo.records;
    status = record.rolled_back ? undo_->DropLast(txn, pointer)
                                : applier_->Undo(txn, record, pointer, budget);
    if (!status.ok()) return status;
    ROWAN_CHECK(txn->undo.records < records);  // the applier dropped the record in its own group
  }
}

Status Rollback::Everything(Txn* txn, WorkBudget* budget) {
  ROWAN_DCHECK(!txn->rollback.shared && !txn->undo.empty());
  ROWAN_DCHECK(txn->state == TxnState::kActive || txn->state == TxnState::kPrepared);
  if (txn->state == TxnState::kPrepared) {
    const Status status = undo_->CancelPrepare(txn);
    if (!status.ok()) return status;
    std::atomic_ref(txn->state).store(TxnState::kActive, std::memory_order_relaxed);
  }
  const Status status = DownTo(txn, UndoPosition{}, budget);
  if (!status.ok()) return status;
  return undo_->FinishRollback(txn);
}

void Rollback::Share(std::unique_ptr<Txn>* txn, WorkBudget* budget, SharedOutcome* outcome) {
  Txn* const shared = txn->get();
  if (window_.TryOpen(txn)) RollBackUnits(shared, budget, outcome);
}

void Rollback::Help(WorkBudget* budget, SharedOutcome* outcome) {
  Txn* const shared = window_.JoinOrWait(kHelpWait);
  if (shared != nullptr) RollBackUnits(shared, budget, outcome);
}

void Rollback::RollBackUnits(Txn* txn, WorkBudget* budget, SharedOutcome* outcome) {
  ROWAN_DCHECK(txn->rollback.shared);
  UndoUnit& unit = ThreadScratch().unit;
  const auto share_of = [this](const UndoRecordInPage& record) {
    return applier_->ShareOf(record);
  };
  while (!budget->exhausted()) {
    if (!window_.Take(*undo_->streams()->space(), share_of, *budget, &unit)) break;
    const Status status = RollBackUnit(txn, unit, budget);
    window_.GiveBack(unit, status);
    if (!status.ok()) break;
  }
  if (!window_.Leave(outcome)) return;
  if (!outcome->end.IsNone()) {
    KeepFirst(&outcome->status, undo_->DropBehind(outcome->txn.get(), outcome->end));
  }
}

Status Rollback::RollBackUnit(Txn* txn, const UndoUnit& unit, WorkBudget* budget) {
  for (const UndoSlice& slice : unit.slices) {
    const Status status = RollBackSlice(txn, slice, budget);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status Rollback::RollBackSlice(Txn* txn, const UndoSlice& slice, WorkBudget* budget) {
  ROWAN_DCHECK(slice.begin <= slice.end && slice.page != kNoPage);
  Scratch& scratch = ThreadScratch();
  const UndoSpace& space = *undo_->streams()->space();
  {
    Result<PageGuard> guard = space.FixShared(slice.page);
    if (!guard.ok()) return guard.status();
    ROWAN_CHECK(slice.end <= UndoFreeOf(guard->page()));
    scratch.bytes.assign(guard->page() + slice.begin, guard->page() + slice.end);
  }
  const size_t size = scratch.bytes.size();
  UndoRecordInPage record;
  for (size_t end = size; end != 0; end -= record.length) {
    // The window has parsed these records: no other lengths are possible here.
    const size_t length = LoadLe<uint16_t>(scratch.bytes.data() + end - 2);
    ROWAN_CHECK(length <= end && ParseUndoRecord(scratch.bytes.data(), end - length, end, &record));
    if (record.rolled_back) continue;
    if (!budget->Spend()) return Status(Code::kBusy);
    scratch.record.Assign(record, space.IdOf(slice.page));
    const auto offset = static_cast<uint16_t>(slice.begin + end - length);
    const Status status = applier_->Undo(txn, scratch.record, {slice.page, offset}, budget);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

}  // namespace rowan
