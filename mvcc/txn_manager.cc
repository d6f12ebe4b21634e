// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn_manager.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/atomic_max.h"
#include "mvcc/txn_manager_impl.h"

namespace rowan {
namespace {

/// One control file update per million writing transactions. A restart skips what is left of a
/// chunk: 48 bits last for 2^28 restarts.
constexpr uint64_t kIdsPerReservation = uint64_t{1} << 20;

/// CSNs used by transactions that already ran when a chunk of ids was reserved.
constexpr uint64_t kCsnHeadRoom = uint64_t{1} << 20;

/// Ids walked over by one refresh: a millisecond at most, when a long transaction ended.
constexpr uint64_t kRefreshSteps = uint64_t{1} << 20;

/// Outcomes in the ring's overflow map before a look at what can go.
constexpr uint64_t kOverflowPrune = 4096;

}  // namespace

TxnManager::TxnManager(UndoStreams* undo, Log* log, const TxnManagerOptions& options)
    : impl_(std::make_unique<Impl>(undo, log, options)) {}
TxnManager::~TxnManager() = default;

void TxnManager::SetApplier(UndoApplier* applier) { impl_->applier = applier; }

bool TxnManager::ShuttingDown() const {
  return impl_->shutdown_sign != nullptr && impl_->shutdown_sign();
}

void TxnManager::SetNextIds(TxnId next_txn, Csn next_csn) {
  // CSN 0 is "no snapshot" and "before everything".
  impl_->first_txn = std::max<uint64_t>(1, next_txn.value());
  impl_->first_csn = std::max<uint64_t>(1, next_csn.value());
  impl_->next_txn.store(impl_->first_txn, std::memory_order_release);
  impl_->next_csn.store(impl_->first_csn, std::memory_order_release);
  if (impl_->reserve) impl_->reserved_txn.store(impl_->first_txn, std::memory_order_release);
  impl_->ring.Reset(TxnId(impl_->first_txn));
}

void TxnManager::SetIdReserver(std::function<Status(TxnId, Csn)> reserve) {
  impl_->reserve = std::move(reserve);
  impl_->reserved_txn.store(impl_->next_txn.load(std::memory_order_relaxed),
                            std::memory_order_release);
}

// --- snapshots ---

void TxnManager::OpenSnapshot(Txn* txn) {
  if (txn->snapshot.active()) return;
  if (txn->snapshot_registry == nullptr) {
    txn->snapshot_slot = impl_->snapshots.TakeSlot();
    txn->snapshot_registry = &impl_->snapshots;
  }
  ROWAN_DCHECK(txn->snapshot_registry == &impl_->snapshots);
  const uint32_t slot = txn->snapshot_slot;
  TxnId low_txn;
  Csn csn;
  do {
    // low_txn first: what had finished by then has a CSN below the one read afterwards.
    low_txn = impl_->ring.low_txn();
    csn = Csn(impl_->next_csn.load(std::memory_order_seq_cst));
  } while (!impl_->snapshots.Publish(slot, low_txn, csn));
  // Last: an id handed out later can only commit with a later CSN.
  const TxnId high_txn(impl_->next_txn.load(std::memory_order_acquire));
  impl_->snapshots.SetHigh(slot, high_txn);
  txn->snapshot = {low_txn, high_txn, csn, slot};
}

void TxnManager::CloseSnapshot(Txn* txn) {
  if (!txn->snapshot.active()) return;
  impl_->snapshots.Withdraw(txn->snapshot.slot);
  txn->snapshot.slot = UINT32_MAX;
}

bool TxnManager::IsVisibleSlow(const Snapshot& snapshot, TxnId writer) const {
  const TxnOutcome outcome = impl_->ring.Find(writer);
  return outcome.state() == TxnOutcome::kCommitted && outcome.csn() < snapshot.csn;
}

TxnId TxnManager::VisibleToAll() const {
  return TxnId(impl_->visible_to_all.load(std::memory_order_acquire));
}

Csn TxnManager::PurgeHorizon() const {
  return Csn(impl_->purge_horizon.load(std::memory_order_acquire));
}

void TxnManager::RefreshHorizon() {
  std::lock_guard lock(impl_->horizon_mutex);
  impl_->ring.AdvanceLow(NextTxnId(), kRefreshSteps);
  TxnId low_txn = impl_->ring.low_txn();
  Csn csn(impl_->next_csn.load(std::memory_order_seq_cst));
  const Csn announced = csn;  // a snapshot that is being opened now has this CSN or a later one
  const bool prune = impl_->ring.overflow_size() != 0;
  std::vector<Snapshot>& open = impl_->open_snapshots;
  open.clear();
  impl_->snapshots.FindOldest(&low_txn, &csn, prune ? &open : nullptr);
  // A slot may show a snapshot that its owner is about to replace by a fresher one: never go back.
  RaiseTo(&impl_->visible_to_all, low_txn.value());
  RaiseTo(&impl_->purge_horizon, csn.value());
  if (!prune) return;
  // A snapshot asks for ids below its high_txn, and cares only for outcomes not before its CSN.
  std::sort(open.begin(), open.end(),
            [](const Snapshot& left, const Snapshot& right) { return left.csn < right.csn; });
  for (size_t i = 1; i < open.size(); ++i) {
    open[i].high_txn = std::max(open[i].high_txn, open[i - 1].high_txn);
  }
  impl_->ring.PruneOverflow([&](TxnId id, TxnOutcome outcome) {
    if (outcome.csn() >= announced) return true;
    auto above = std::upper_bound(open.begin(), open.end(), outcome.csn(),
                                  [](Csn value, const Snapshot& s) { return value < s.csn; });
    return above != open.begin() && id < std::prev(above)->high_txn;
  });
}

uint64_t TxnManager::RememberedOutcomes() const { return impl_->ring.overflow_size(); }

// --- ids ---

TxnId TxnManager::NextTxnId() const {
  return TxnId(impl_->next_txn.load(std::memory_order_acquire));
}

TxnId TxnManager::Impl::TakeId(bool* reserve_soon) {
  assign_latch.LockExclusive();
  const uint64_t id = next_txn.load(std::memory_order_relaxed);
  const uint64_t reserved = reserved_txn.load(std::memory_order_acquire);
  if (id >= reserved) {
    assign_latch.UnlockExclusive();
    return kNoTxn;
  }
  ROWAN_CHECK(id < kTxnIdLimit);
  ring.Claim(TxnId(id), Csn(purge_horizon.load(std::memory_order_acquire)));
  next_txn.store(id + 1, std::memory_order_release);
  assign_latch.UnlockExclusive();
  *reserve_soon = reserved - id == kIdsPerReservation / 2;
  return TxnId(id);
}

Status TxnManager::Impl::ReserveIds() {
  std::lock_guard lock(reserve_mutex);
  const uint64_t next = next_txn.load(std::memory_order_acquire);
  const uint64_t reserved = reserved_txn.load(std::memory_order_relaxed);
  if (reserved > next + kIdsPerReservation / 2) return Status::Ok();  // another was faster
  const uint64_t limit = std::max(next, reserved) + kIdsPerReservation;
  // Each transaction takes at most one CSN, when it ends.
  const uint64_t csn_limit = first_csn + (limit - first_txn) +
                             adopted.load(std::memory_order_relaxed) + kCsnHeadRoom;
  const Status status = reserve(TxnId(limit), Csn(csn_limit));
  if (!status.ok()) return status;
  reserved_txn.store(limit, std::memory_order_release);
  return Status::Ok();
}

Status TxnManager::AssignId(Txn* txn) {
  if (txn->is_writer()) return Status::Ok();
  if (impl_->log != nullptr && impl_->log->stopped()) return Status(Code::kStopped);
  bool reserve_soon = false;
  TxnId id = impl_->TakeId(&reserve_soon);
  while (id == kNoTxn) {
    const Status status = impl_->ReserveIds();
    if (!status.ok()) return status;
    id = impl_->TakeId(&reserve_soon);
  }
  txn->id.store(id.value(), std::memory_order_relaxed);
  if (txn->state != TxnState::kActive) txn->state = TxnState::kActive;
  impl_->writers.Add(txn);
  if (reserve_soon) {
    // Half a chunk is left: a failure comes back to whoever finds none left.
    impl_->ReserveIds().Ignore();
  }
  if (impl_->ring.overflow_size() > kOverflowPrune && (id.value() % kOverflowPrune) == 0) {
    RefreshHorizon();
  }
  return Status::Ok();
}

bool TxnManager::IsActive(TxnId id) const { return impl_->ring.IsRunning(id); }

bool TxnManager::WithActive(TxnId id, const std::function<void(Txn*)>& action) {
  return impl_->writers.With(id, action);
}

// --- access ---

uint64_t TxnManager::HistoryLength() const {
  return impl_->undo == nullptr ? 0 : impl_->undo->HistoryLength();
}
LockTable* TxnManager::locks() { return &impl_->locks; }
UndoStreams* TxnManager::undo() const { return impl_->undo; }
Log* TxnManager::log() const { return impl_->log; }

std::vector<TxnInfo> TxnManager::Describe() const {
  std::vector<TxnInfo> infos;
  impl_->writers.ForEach([&](Txn* txn) {
    // The owner goes on meanwhile: each figure is right at some moment.
    infos.push_back(
        {.id = txn->txn_id(),
         .state = std::atomic_ref(txn->state).load(std::memory_order_relaxed),
         .undo_records = std::atomic_ref(txn->undo_records).load(std::memory_order_relaxed),
         .locks = txn->lock_count.load(std::memory_order_relaxed) +
                  txn->folded_locks.load(std::memory_order_relaxed),
         .waiting = txn->waiting_for.load(std::memory_order_relaxed) != nullptr,
         .recovered = txn->recovered});
  });
  return infos;
}

}  // namespace rowan
