// SPDX-License-Identifier: GPL-2.0-only
// LockRequestPool: where lock requests come from. Their memory is freed only with the pool. Sharded
// by thread. Thread safety: all members.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/latch.h"
#include "base/mutex.h"
#include "mvcc/lock/lock_request.h"

namespace rowan {

class LockRequestPool {
 public:
  LockRequestPool() = default;
  ~LockRequestPool();

  /// nullptr when none is free and `may_grow` is false.
  LockRequest* Acquire(bool may_grow);
  void Release(LockRequest* request);
  [[nodiscard]] uint64_t in_use() const;
  [[nodiscard]] uint64_t memory_bytes() const {
    return memory_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kShards = 16;
  struct alignas(64) Shard {
    RankedLatch<LatchRank::kLockRequests> latch;
    LockRequest* free ROWAN_GUARDED_BY(latch) = nullptr;
    std::atomic<int64_t> in_use{0};  ///< may be negative: requests return to another shard
  };

  static LockRequest* AcquireFrom(Shard* shard);
  LockRequest* AddSlab(Shard* shard);

  std::array<Shard, kShards> shards_;
  Mutex slabs_mutex_{LatchRank::kLockSlabs};
  std::vector<LockRequest*> slabs_ ROWAN_GUARDED_BY(slabs_mutex_);
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace rowan
