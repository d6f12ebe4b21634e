// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/detached_txns.h"

#include "base/assertions.h"

namespace rowan {
namespace {

bool HasFailed(const Txn& txn) { return txn.rollback.failed.cause != Code::kOk; }

/// Damage stays until something is dropped; nothing begins during a shutdown or after a stop.
bool MayPass(Code cause) {
  return cause != Code::kCorrupt && cause != Code::kInterrupted && cause != Code::kStopped;
}

}  // namespace

void DetachedTxns::Add(std::unique_ptr<Txn> txn) {
  ROWAN_DCHECK(txn->state == TxnState::kPrepared ||
               (txn->state == TxnState::kActive && txn->is_writer()));
  ROWAN_DCHECK(!txn->rollback.shared && !txn->snapshot.active());
  const MutexLock lock(&mutex_);
  if (txn->state == TxnState::kPrepared && txn->rollback.failed.failures == 0) {
    prepared_.emplace(txn->xid, std::move(txn));
  } else {
    losers_.push_back(std::move(txn));
  }
}

std::unique_ptr<Txn> DetachedTxns::TakeLoser() {
  const MutexLock lock(&mutex_);
  for (std::unique_ptr<Txn>& candidate : losers_) {
    if (HasFailed(*candidate)) continue;
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
  ROWAN_DCHECK(taken->state == TxnState::kPrepared && taken->xid == xid);
  return taken;
}

template <typename Predicate>
void DetachedTxns::RetryIf(const Predicate& wanted, std::atomic<uint64_t>* losers) {
  const MutexLock lock(&mutex_);
  for (const auto& txn : losers_) {
    if (!HasFailed(*txn) || !wanted(txn->rollback.failed)) continue;
    ROWAN_DCHECK(txn->rollback.failed.failures != 0 && !txn->undo.empty());
    txn->rollback.failed.cause = Code::kOk;
    losers->fetch_add(1, std::memory_order_relaxed);
  }
}

void DetachedTxns::RetryFailed(std::atomic<uint64_t>* losers) {
  RetryIf([](const FailedRollback&) { return true; }, losers);
}

void DetachedTxns::RetryDue(uint64_t now_nanos, std::atomic<uint64_t>* losers) {
  const auto due = [now_nanos](const FailedRollback& failed) {
    return MayPass(failed.cause) && failed.retry_at_nanos <= now_nanos;
  };
  RetryIf(due, losers);
}

DetachedTxns::Failed DetachedTxns::CountFailed() const {
  const MutexLock lock(&mutex_);
  Failed failed;
  for (const auto& txn : losers_) {
    if (!HasFailed(*txn)) continue;
    ++failed.count;
    if (MayPass(txn->rollback.failed.cause)) ++failed.retried;
  }
  return failed;
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
  return found == prepared_.end() ? std::vector<IndexId>() : found->second->undo.indexes.All();
}

}  // namespace rowan
