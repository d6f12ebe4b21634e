// SPDX-License-Identifier: GPL-2.0-only
// TxnManager's part of purge: what all snapshots see, who may look ahead of the horizon, figures.
#include "base/assertions.h"
#include "mvcc/txn_manager.h"

#include <algorithm>

#include "base/clock.h"

namespace rowan {

bool TxnManager::IsSeenByAll(TxnId writer) const {
  if (writer < VisibleToAll()) return true;
  const TxnOutcome outcome = ring_.Find(writer);
  if (outcome.state() != TxnOutcome::kCommitted) return false;
  // Read after the ring: a thread that finds an id forgotten sees the bound set before.
  if (outcome.csn() == Csn(0)) {
    return writer.value() < forgotten_seen_below_.load(std::memory_order_seq_cst);
  }
  // The horizon is published before purge acts on it, and both look under the same leaf latch, so
  // "not below the horizon" here means that purge is yet to come.
  return outcome.csn() < PurgeHorizon();
}

TxnId TxnManager::LeastHighTxn(TxnId next) const {
  TxnId least = next;
  // For one being opened it is still the greatest id, and nothing that matters to it is forgotten.
  for (const Snapshot& snapshot : open_snapshots_) least = std::min(least, snapshot.high_txn);
  ROWAN_DCHECK(least <= next);
  return least;
}

void TxnManager::SortOpenSnapshots() {
  std::sort(open_snapshots_.begin(), open_snapshots_.end(),
            [](const Snapshot& left, const Snapshot& right) { return left.csn < right.csn; });
}

void TxnManager::PruneOutcomes(Csn announced) {
  std::vector<Snapshot>& open = open_snapshots_;
  ROWAN_DCHECK(std::is_sorted(open.begin(), open.end(),
                              [](const Snapshot& a, const Snapshot& b) { return a.csn < b.csn; }));
  // A snapshot asks for ids below its high_txn; only outcomes not before its CSN matter to it.
  for (size_t i = 1; i < open.size(); ++i) {
    open[i].high_txn = std::max(open[i].high_txn, open[i - 1].high_txn);
  }
  ring_.PruneOverflow([&](TxnId id, TxnOutcome outcome) {
    horizon_mutex_.AssertHeld();
    if (outcome.csn() >= announced) return true;
    auto above = std::upper_bound(open.begin(), open.end(), outcome.csn(),
                                  [](Csn value, const Snapshot& s) { return value < s.csn; });
    return above != open.begin() && id < std::prev(above)->high_txn;
  });
}

Result<bool> TxnManager::PurgeSome(uint32_t worker, uint32_t workers, WorkBudget* budget) {
  ROWAN_DCHECK(worker < workers);
  if (HistoryLength() == 0 && worker != 0) return false;
  RefreshHorizon();
  Result<bool> more = purge_.RunUnit(worker, workers, PurgeHorizon(), budget);
  if (worker == 0) pressure_.Update(PurgeHorizon(), MonotonicNanos());
  if (more.status().Is(Code::kStopped)) return more;
  if ((more.ok() && more.value()) || HistoryLength() == 0) return more;
  OldSnapshots old;
  if (!BeginLookAhead(&old)) return more;
  // A read of an optimistic transaction must meet what it does not see, to know its writer; the
  // snapshot of one that begins now is younger than those in `old`.
  if (serial_.size() == 0) {
    const Result<bool> ahead = purge_.LookAhead(worker, workers, old, budget);
    // An earlier failure is returned after everything was tried.
    if (more.ok() || (ahead.ok() && ahead.value())) more = ahead;
  }
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
  ROWAN_DCHECK(looking_ahead_ != 0);
  --looking_ahead_;
}

PurgeFigures TxnManager::DescribePurge() const {
  return {.history_length = HistoryLength(),
          .versions_kept = pressure_.kept(),
          .lag = pressure_.lag(),
          .blocked = pressure_.blocked(),
          .damaged_streams = streams() == nullptr ? 0 : streams()->damaged_count(),
          .writer_delay_us = pressure_.delay_us(),
          .writer_delays = streams() == nullptr ? 0 : streams()->WriterDelays(),
          .oldest_snapshot = snapshots_.Oldest(MonotonicNanos() / 1'000'000)};
}

}  // namespace rowan
