// SPDX-License-Identifier: GPL-2.0-only
// TxnManager's part of purge: who may look ahead of the horizon, and figures.
#include "mvcc/txn_manager.h"

#include "base/clock.h"

namespace rowan {

Result<bool> TxnManager::PurgeSome(uint32_t worker, uint32_t workers, WorkBudget* budget) {
  if (HistoryLength() == 0 && worker != 0) return false;
  RefreshHorizon();
  Result<bool> more = purge_.RunUnit(worker, workers, PurgeHorizon(), budget);
  if (worker == 0) pressure_.Update(PurgeHorizon(), MonotonicNanos());
  if (!more.ok() || more.value() || HistoryLength() == 0) return more;
  // A read has to meet what it does not see, to know who wrote it.
  if (serial_.size() != 0) return false;
  OldSnapshots old;
  if (!BeginLookAhead(&old)) return false;
  more = purge_.LookAhead(worker, workers, old, budget);
  EndLookAhead();
  return more;
}

bool TxnManager::BeginLookAhead(OldSnapshots* old) {
  const MutexLock lock(&horizon_mutex_);
  if (horizon_must_move_ || old_snapshots_.found().count == 0) return false;
  *old = old_snapshots_.found();
  ++looking_ahead_;
  return true;
}

void TxnManager::EndLookAhead() {
  const MutexLock lock(&horizon_mutex_);
  --looking_ahead_;
}

PurgeFigures TxnManager::DescribePurge() const {
  return {.history_length = HistoryLength(),
          .versions_kept = pressure_.kept(),
          .lag = pressure_.lag(),
          .writer_delay_us = pressure_.delay_us(),
          .writer_delays = streams() == nullptr ? 0 : streams()->WriterDelays(),
          .oldest_snapshot = snapshots_.Oldest(MonotonicNanos() / 1'000'000)};
}

}  // namespace rowan
