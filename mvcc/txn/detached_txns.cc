// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/detached_txns.h"

namespace rowan {

void DetachedTxns::Add(std::unique_ptr<Txn> txn) {
  const MutexLock lock(&mutex_);
  if (txn->state == TxnState::kPrepared) {
    prepared_.emplace(txn->xid, std::move(txn));
  } else {
    losers_.push_back(std::move(txn));
  }
}

std::unique_ptr<Txn> DetachedTxns::TakeLoser() {
  const MutexLock lock(&mutex_);
  for (std::unique_ptr<Txn>& candidate : losers_) {
    if (candidate->rollback_failed) continue;
    std::unique_ptr<Txn> taken = std::move(candidate);
    candidate = std::move(losers_.back());
    losers_.pop_back();
    return taken;
  }
  return nullptr;
}

std::unique_ptr<Txn> DetachedTxns::TakePrepared(const std::string& xid) {
  const MutexLock lock(&mutex_);
  const auto found = prepared_.find(xid);
  if (found == prepared_.end()) return nullptr;
  std::unique_ptr<Txn> taken = std::move(found->second);
  prepared_.erase(found);
  return taken;
}

uint64_t DetachedTxns::RetryFailed() {
  const MutexLock lock(&mutex_);
  uint64_t losers = 0;
  for (const auto& txn : losers_) {
    losers += txn->rollback_failed ? 1 : 0;
    txn->rollback_failed = false;
  }
  return losers;
}

std::vector<std::string> DetachedTxns::PreparedXids() const {
  const MutexLock lock(&mutex_);
  std::vector<std::string> xids;
  for (const auto& [xid, txn] : prepared_) xids.push_back(xid);
  return xids;
}

std::string DetachedTxns::PreparedXidFrom(const std::string& first) const {
  const MutexLock lock(&mutex_);
  const auto found = prepared_.lower_bound(first);
  return found == prepared_.end() ? std::string() : found->first;
}

TxnId DetachedTxns::PreparedId(const std::string& xid) const {
  const MutexLock lock(&mutex_);
  const auto found = prepared_.find(xid);
  return found == prepared_.end() ? kNoTxn : found->second->txn_id();
}

std::vector<IndexId> DetachedTxns::IndexesChangedBy(const std::string& xid) const {
  const MutexLock lock(&mutex_);
  const auto found = prepared_.find(xid);
  return found == prepared_.end() ? std::vector<IndexId>() : found->second->changed_indexes.All();
}

}  // namespace rowan
