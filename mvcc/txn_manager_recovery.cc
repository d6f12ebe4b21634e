// SPDX-License-Identifier: GPL-2.0-only
// Transactions without a session: found by recovery, detached after XA PREPARE, or left over by a
// rollback that failed. The manager owns them; they are registered as active writers like any
// other.
#include "mvcc/txn_manager_impl.h"

namespace rowan {

void TxnManager::Impl::Keep(std::unique_ptr<Txn> txn) {
  std::lock_guard lock(kept_mutex);
  kept.push_back(std::move(txn));
}

void TxnManager::Adopt(std::vector<std::unique_ptr<Txn>> unfinished) {
  for (std::unique_ptr<Txn>& txn : unfinished) {
    impl_->ring.AddUnfinished(txn->txn_id());
    impl_->writers.Add(txn.get());
    impl_->adopted.fetch_add(1, std::memory_order_relaxed);
    if (txn->state == TxnState::kActive) impl_->losers.fetch_add(1, std::memory_order_relaxed);
    impl_->Keep(std::move(txn));
  }
}

uint64_t TxnManager::LoserCount() const { return impl_->losers.load(std::memory_order_relaxed); }

Result<bool> TxnManager::RollbackSome(WorkBudget* budget) {
  const auto is_loser = [](const Txn& txn) {
    return txn.state == TxnState::kActive && !txn.rollback_failed;
  };
  std::unique_ptr<Txn> txn = impl_->TakeKept(is_loser);
  if (txn == nullptr) return false;
  Status status = impl_->UndoEverything(txn.get(), budget);
  if (status.Is(Code::kBusy) && budget->exhausted()) {
    impl_->Keep(std::move(txn));
    return true;
  }
  status = impl_->FinishRollback(txn.get(), status, false);
  impl_->losers.fetch_sub(1, std::memory_order_relaxed);
  // Damage was logged, and the transaction is kept in another shape: go on with the next one.
  if (status.Is(Code::kStopped)) return status;
  return true;
}

void TxnManager::RetryFailedRollbacks() {
  std::lock_guard lock(impl_->kept_mutex);
  for (const auto& txn : impl_->kept) {
    if (txn->state != TxnState::kActive || !txn->rollback_failed) continue;
    txn->rollback_failed = false;
    impl_->losers.fetch_add(1, std::memory_order_relaxed);
  }
}

std::vector<std::string> TxnManager::PreparedXids() const {
  std::lock_guard lock(impl_->kept_mutex);
  std::vector<std::string> xids;
  for (const auto& txn : impl_->kept) {
    if (txn->state == TxnState::kPrepared) xids.push_back(txn->xid);
  }
  return xids;
}

TxnId TxnManager::PreparedId(const std::string& xid) const {
  std::lock_guard lock(impl_->kept_mutex);
  for (const auto& txn : impl_->kept) {
    if (txn->state == TxnState::kPrepared && txn->xid == xid) return txn->txn_id();
  }
  return kNoTxn;
}

std::vector<IndexId> TxnManager::IndexesChangedBy(const std::string& xid) const {
  std::lock_guard lock(impl_->kept_mutex);
  for (const auto& txn : impl_->kept) {
    if (txn->state == TxnState::kPrepared && txn->xid == xid) return txn->changed_indexes;
  }
  return {};
}

Status TxnManager::CommitPrepared(const std::string& xid, Durability durability) {
  std::unique_ptr<Txn> txn = impl_->TakeKept([&xid](const Txn& candidate) {
    return candidate.state == TxnState::kPrepared && candidate.xid == xid;
  });
  if (txn == nullptr) return Status(Code::kNotFound);
  const Status status = CommitAdopted(txn.get(), durability);
  if (txn->state == TxnState::kPrepared) impl_->Keep(std::move(txn));  // nothing was committed
  return status;
}

Status TxnManager::CommitAdopted(Txn* txn, Durability durability) {
  if (impl_->reserve) {
    // It takes a CSN, but asked for no id in this run: the next start must know better.
    const Status status = impl_->ReserveIds();
    if (!status.ok()) return status;
  }
  return Commit(txn, durability, true);
}

Status TxnManager::RollbackPrepared(const std::string& xid) {
  std::unique_ptr<Txn> txn = impl_->TakeKept([&xid](const Txn& candidate) {
    return candidate.state == TxnState::kPrepared && candidate.xid == xid;
  });
  if (txn == nullptr) return Status(Code::kNotFound);
  return Rollback(txn.get());
}

void TxnManager::KeepPrepared(std::unique_ptr<Txn> txn) {
  ROWAN_CHECK(txn->state == TxnState::kPrepared);
  CloseSnapshot(txn.get());
  impl_->Keep(std::move(txn));
}

}  // namespace rowan
