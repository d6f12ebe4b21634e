// SPDX-License-Identifier: GPL-2.0-only
// LockRequest: one entry of the lock table, granted or waiting, and the futex its owner sleeps on.
// Requests are type-stable (lock_request_pool.h), so waking a request's sleeper by address needs no
// lifetime rule. Thread safety: fields as noted; the functions from any thread.
#pragma once

#include <atomic>
#include <cstdint>

#include "mvcc/lock/lock_info.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct Txn;

struct alignas(64) LockRequest {
  /// Bit of `word`: granted. The bits above count calls to look again, so that a sleeper never
  /// misses one between checking the flags and going to sleep.
  static constexpr uint32_t kGranted = 1;
  static constexpr uint32_t kLookAgain = 2;

  LockRequest* chain_next = nullptr;  ///< bucket latch (free list: pool latch)
  LockRequest* chain_previous = nullptr;
  LockRequest* txn_next = nullptr;  ///< owner's list: written before the push, then by the owner
  Txn* owner = nullptr;
  LockKey key;
  std::atomic<uint32_t> word{0};  ///< futex; kGranted is set under the bucket latch
  LockMode mode = LockMode::kShared;
  LockKind kind = LockKind::kRecord;
  bool upgrade = false;  ///< its owner already holds the record: it waits for granted locks only
  uint8_t holds = 1;     ///< successful TryLocks not undone; sticks at 255. Bucket latch

  [[nodiscard]] bool granted() const {
    return (word.load(std::memory_order_acquire) & kGranted) != 0;
  }
  /// Does it block `waiter`, which stands after it in the queue? Bucket latch.
  [[nodiscard]] bool Blocks(const LockRequest& waiter) const;
  /// Without the key.
  [[nodiscard]] LockInfo Describe() const;
  /// Wakes the sleeper on the request.
  void Wake();
  /// Wakes it although nothing was granted: a flag of the owner changed.
  void WakeToLook();
  /// Returns on a wake-up, after `nanos`, or at once when the word is no longer `expected`; callers
  /// check again.
  void Sleep(uint32_t expected, uint64_t nanos);
};
static_assert(sizeof(LockRequest) == 64);

}  // namespace rowan
