// SPDX-License-Identifier: GPL-2.0-only
// DetachedTxns: transactions without a session: found by recovery, detached after XA PREPARE, or
// left over by a rollback that failed. They are registered as active writers like any other.
// Thread safety: all members.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
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
  /// One to be rolled back that is not waiting for its next try; nullptr if there is none.
  std::unique_ptr<Txn> TakeLoser();
  /// The prepared one with this XID, or nullptr. One whose rollback has begun no longer counts.
  std::unique_ptr<Txn> TakePrepared(const std::string& xid);
  /// Rollbacks that failed become losers again, and are added to `*losers` before they can be
  /// taken: all, or those that are due and may succeed though nothing was dropped.
  void RetryFailed(std::atomic<uint64_t>* losers);
  void RetryDue(uint64_t now_nanos, std::atomic<uint64_t>* losers);
  /// Failed rollbacks that wait: all, and those that RetryDue will take.
  struct Failed {
    uint64_t count = 0;
    uint64_t retried = 0;
  };
  [[nodiscard]] Failed CountFailed() const;
  [[nodiscard]] std::vector<std::string> PreparedXids() const;
  /// kNoTxn when there is no such prepared transaction.
  [[nodiscard]] TxnId PreparedId(const std::string& xid) const;
  /// The least XID of a prepared one, by bytes, that is not below `first`; empty: none is.
  [[nodiscard]] std::string PreparedXidFrom(const std::string& first) const;
  /// Indexes that a prepared transaction changed, each once.
  [[nodiscard]] std::vector<IndexId> IndexesChangedBy(const std::string& xid) const;

 private:
  template <typename Predicate>
  void RetryIf(const Predicate& wanted, std::atomic<uint64_t>* losers);

  mutable Mutex mutex_{LatchRank::kDetachedTxns};
  std::vector<std::unique_ptr<Txn>> losers_ ROWAN_GUARDED_BY(mutex_);
  /// By XID, which changes only while the transaction is out of here.
  std::multimap<std::string, std::unique_ptr<Txn>> prepared_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
