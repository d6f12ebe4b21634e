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
    impl_->Keep(std::move(txn));
  }
}

Result<bool> TxnManager::RollbackOneRecovered() {
  const auto is_loser = [](const Txn& txn) {
    return txn.state == TxnState::kActive && !txn.rollback_failed;
  };
  std::unique_ptr<Txn> txn = impl_->TakeKept(is_loser);
  if (txn == nullptr) return false;
  const Status status = Rollback(txn.get());
  // Damage was logged, and the transaction is kept in another shape: go on with the next one.
  if (status.Is(Code::kStopped)) return status;
  return true;
}

std::vector<std::string> TxnManager::PreparedXids() const {
  std::lock_guard lock(impl_->kept_mutex);
  std::vector<std::string> xids;
  for (const auto& txn : impl_->kept) {
    if (txn->state == TxnState::kPrepared) xids.push_back(txn->xid);
  }
  return xids;
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
  const Status status = Commit(txn.get(), durability, true);
  if (txn->state == TxnState::kPrepared) impl_->Keep(std::move(txn));  // nothing was committed
  return status;
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
