// SPDX-License-Identifier: GPL-2.0-only
// LockRequest: one entry of the lock table, and the pool that requests come from.
// Requests are type-stable: their memory is never given back before the table goes, so that waking
// a request's sleeper by address needs no life-time rule. The pool is sharded by thread.
// Thread safety: the pool's members from any thread; a request's fields as noted.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/latch.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct Txn;

struct alignas(64) LockRequest {
  /// Bit of `word`: granted. The bits above count pokes, so that a sleeper on the futex never
  /// misses one between its look at the flags and going to sleep.
  static constexpr uint32_t kGranted = 1;
  static constexpr uint32_t kPoke = 2;

  LockRequest* chain_next = nullptr;  ///< bucket latch (free list: pool latch)
  LockRequest* chain_previous = nullptr;
  LockRequest* txn_next = nullptr;  ///< owner's list: written before the push, then by the owner
  Txn* owner = nullptr;
  LockKey key;
  std::atomic<uint32_t> word{0};  ///< futex; kGranted is set under the bucket latch
  LockMode mode = LockMode::kShared;
  LockKind kind = LockKind::kRecord;
  bool upgrade = false;  ///< owner holds the record already: waits for granted locks only
  uint8_t holds = 1;     ///< successful TryLocks not taken back; sticks at 255. Bucket latch

  [[nodiscard]] bool granted() const {
    return (word.load(std::memory_order_acquire) & kGranted) != 0;
  }
};
static_assert(sizeof(LockRequest) == 64);

class LockRequestPool {
 public:
  LockRequestPool() = default;
  ~LockRequestPool();

  /// nullptr when there is no free one and `may_grow` is false.
  LockRequest* Take(bool may_grow);
  void Return(LockRequest* request);
  [[nodiscard]] uint64_t taken() const;
  [[nodiscard]] uint64_t memory_bytes() const {
    return memory_bytes_.load(std::memory_order_relaxed);
  }

 private:
  static constexpr uint32_t kShards = 16;
  struct alignas(64) Shard {
    Latch latch;
    LockRequest* free = nullptr;
    std::atomic<int64_t> taken{0};  ///< may be negative: requests return to another shard
  };

  static LockRequest* TakeFrom(Shard* shard);
  LockRequest* AddSlab(Shard* shard);

  std::array<Shard, kShards> shards_;
  std::mutex slabs_mutex_;
  std::vector<LockRequest*> slabs_;  ///< guarded by slabs_mutex_
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace rowan
