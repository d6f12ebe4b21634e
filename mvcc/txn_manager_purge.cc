// SPDX-License-Identifier: GPL-2.0-only
// Purge scheduling: workers share the undo streams by number. Within a stream transactions are
// purged in commit order, across streams in any order: each record's purge looks at the row itself
// and does nothing if somebody else changed it since.
#include "base/counters.h"
#include "mvcc/txn_manager_impl.h"

namespace rowan {
namespace {

/// One unit of work, besides its budget of records: long enough to amortise the look at all
/// snapshots.
constexpr uint32_t kTransactionsPerUnit = 256;
/// From one stream before the next one has its turn: neighbours in a stream share pages.
constexpr uint32_t kTransactionsPerStream = 32;

}  // namespace

Result<bool> TxnManager::PurgeSome(uint32_t worker, uint32_t workers, WorkBudget* budget) {
  if (impl_->undo->HistoryLength() == 0 && worker != 0) return false;
  RefreshHorizon();
  const Csn horizon = PurgeHorizon();
  const UndoStreams::PurgeVisit visit = [this](TxnId txn, const UndoRecordCopy& record) {
    const Status status = impl_->applier->Purge(txn, record);
    // What is on a damaged page stays there; its finder logged it. The rest of history must move
    // on.
    return status.Is(Code::kCorrupt) ? Status::Ok() : status;
  };
  std::atomic<uint32_t>& cursor = impl_->purge_cursors[worker % Impl::kPurgeCursors];
  const uint32_t streams = impl_->undo->stream_count();
  const uint32_t own = streams > worker ? (streams - worker - 1) / workers + 1 : 0;
  uint32_t purged = 0;
  for (uint32_t turn = 0; turn < own && purged < kTransactionsPerUnit; ++turn) {
    if (budget->exhausted()) return true;
    const uint32_t place = cursor.fetch_add(1, std::memory_order_relaxed) % own;
    const uint32_t stream = worker + place * workers;
    for (uint32_t i = 0; i < kTransactionsPerStream && impl_->undo->HasHistory(stream); ++i) {
      const auto step = impl_->undo->PurgeOldest(stream, horizon, visit, budget);
      if (!step.ok()) return step.status();
      if (step.value() == UndoStreams::PurgeStep::kPart) return true;
      if (step.value() == UndoStreams::PurgeStep::kNothing) break;
      AddCounter(Counter::kPurgedTxns);
      ++purged;
    }
  }
  return purged != 0;
}

}  // namespace rowan
