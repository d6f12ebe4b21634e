// SPDX-License-Identifier: GPL-2.0-only
// DetachedTxns: transactions without a session: found by recovery, detached after XA PREPARE, or
// left over by a rollback that failed. They are registered as active writers like any other.
// Thread safety: all members.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "mvcc/txn/txn.h"

namespace rowan {

class DetachedTxns {
 public:
  void Add(std::unique_ptr<Txn> txn);
  /// One that is active and whose rollback did not fail; nullptr if there is none.
  std::unique_ptr<Txn> TakeLoser();
  /// The prepared one with this XID, or nullptr.
  std::unique_ptr<Txn> TakePrepared(const std::string& xid);
  /// Rollbacks that failed become losers again; returns how many.
  uint64_t RetryFailed();
  [[nodiscard]] std::vector<std::string> PreparedXids() const;
  /// kNoTxn when there is no such prepared transaction.
  [[nodiscard]] TxnId PreparedId(const std::string& xid) const;
  /// Indexes changed by a prepared transaction that recovery found; empty for any other.
  [[nodiscard]] std::vector<IndexId> IndexesChangedBy(const std::string& xid) const;

 private:
  template <typename Predicate>
  std::unique_ptr<Txn> Take(const Predicate& wanted) {
    const MutexLock lock(&mutex_);
    for (std::unique_ptr<Txn>& candidate : txns_) {
      if (!wanted(*candidate)) continue;
      std::unique_ptr<Txn> taken = std::move(candidate);
      candidate = std::move(txns_.back());
      txns_.pop_back();
      return taken;
    }
    return nullptr;
  }

  mutable Mutex mutex_{LatchRank::kDetachedTxns};
  std::vector<std::unique_ptr<Txn>> txns_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
