// SPDX-License-Identifier: GPL-2.0-only
// LockFolding: how much memory locks may take, and how a transaction with many entries exchanges
// them for folded locks. A record is folded under the latch of its bucket while no request waits
// for it, so a search finds it in one of the two places.
// Thread safety: all members; a transaction is passed by the thread that runs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/status.h"
#include "mvcc/lock/folded_locks.h"
#include "mvcc/lock/lock_bucket.h"
#include "mvcc/lock/lock_request_pool.h"

namespace rowan {

class LockFolding {
 public:
  LockFolding(LockBuckets* buckets, LockRequestPool* pool, FoldedLocks* folded,
              uint64_t memory_bytes_max)
      : buckets_(buckets), pool_(pool), folded_(folded), memory_bytes_max_(memory_bytes_max) {}

  void SetMemoryMax(uint64_t memory_bytes_max) {
    memory_bytes_max_.store(memory_bytes_max, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t memory_bytes() const {
    return pool_->memory_bytes() + folded_->memory_bytes();
  }
  /// True if the transaction may get no more locks.
  [[nodiscard]] bool IsFullFor(const Txn* txn) const;
  /// Folds the older record locks of a transaction that has many entries. kLockTableFull.
  Status FoldOld(Txn* txn);
  /// Adds the piece to the transaction's ranges; it holds `records` more records. kLockTableFull.
  Status Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece, uint64_t records);

 private:
  /// Takes the request after `before` out of its owner's list; false: it has to stay.
  bool FoldBehind(LockRequest* before);

  LockBuckets* const buckets_;
  LockRequestPool* const pool_;
  FoldedLocks* const folded_;
  std::atomic<uint64_t> memory_bytes_max_;
};

}  // namespace rowan
