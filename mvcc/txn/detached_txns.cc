// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/detached_txns.h"

namespace rowan {

void DetachedTxns::Add(std::unique_ptr<Txn> txn) {
  const MutexLock lock(&mutex_);
  txns_.push_back(std::move(txn));
}

std::unique_ptr<Txn> DetachedTxns::TakeLoser() {
  return Take(
      [](const Txn& txn) { return txn.state == TxnState::kActive && !txn.rollback_failed; });
}

std::unique_ptr<Txn> DetachedTxns::TakePrepared(const std::string& xid) {
  return Take(
      [&xid](const Txn& txn) { return txn.state == TxnState::kPrepared && txn.xid == xid; });
}

uint64_t DetachedTxns::RetryFailed() {
  const MutexLock lock(&mutex_);
  uint64_t losers = 0;
  for (const auto& txn : txns_) {
    if (txn->state != TxnState::kActive || !txn->rollback_failed) continue;
    txn->rollback_failed = false;
    ++losers;
  }
  return losers;
}

std::vector<std::string> DetachedTxns::PreparedXids() const {
  const MutexLock lock(&mutex_);
  std::vector<std::string> xids;
  for (const auto& txn : txns_) {
    if (txn->state == TxnState::kPrepared) xids.push_back(txn->xid);
  }
  return xids;
}

TxnId DetachedTxns::PreparedId(const std::string& xid) const {
  const MutexLock lock(&mutex_);
  for (const auto& txn : txns_) {
    if (txn->state == TxnState::kPrepared && txn->xid == xid) return txn->txn_id();
  }
  return kNoTxn;
}

std::vector<IndexId> DetachedTxns::IndexesChangedBy(const std::string& xid) const {
  const MutexLock lock(&mutex_);
  for (const auto& txn : txns_) {
    if (txn->state == TxnState::kPrepared && txn->xid == xid) return txn->changed_indexes.All();
  }
  return {};
}

}  // namespace rowan
