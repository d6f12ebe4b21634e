// SPDX-License-Identifier: GPL-2.0-only
// Settings of transactions and their limits. Units in the names. Plain data.
#pragma once

#include <cstdint>

#include "base/setting_limits.h"
#include "base/work_budget.h"
#include "mvcc/lock/lock_wait_hooks.h"

namespace rowan {

inline constexpr SettingLimits<uint64_t> kLockMemoryLimits{0, uint64_t{1} << 40};
inline constexpr SettingLimits<uint64_t> kMaxPurgeLagLimits{0, uint64_t{1} << 40};
/// Taken only while there are locks: enough for some forty million of them.
inline constexpr uint64_t kLockMemoryBytesDefault = uint64_t{256} << 20;

struct TxnManagerOptions {
  uint64_t lock_memory_bytes_max = 0;  ///< for row locks; 0: kLockMemoryBytesDefault
  /// Outcomes of transactions found without a lock; power of two.
  uint64_t commit_ring_entries = uint64_t{1} << 20;
  /// Undo records that purge may lag before writers are delayed; 0: they never are. A second or two
  /// of purge, some hundred MiB of undo.
  uint64_t max_purge_lag = 1'000'000;
  /// A snapshot open for this long is an old one: purge looks for what came and went without it.
  /// With a shorter time it would examine more in vain that soon nobody sees.
  uint64_t old_snapshot_ms = 1000;
  /// A loser of more undo records than this is rolled back by several workers.
  uint64_t rollback_records_alone = 4096;
  bool read_only = false;      ///< no transaction becomes a writer: kReadOnly
  LockWaitHooks wait_hooks{};  ///< what the host wants to know of waits for row locks
  /// Once it tells of a shutdown, waits for row locks, index builds and long rollbacks end early;
  /// the next start completes the rollbacks. Null: it never does. Any thread.
  ShutdownSign shutdown_sign = nullptr;
};

}  // namespace rowan
