// SPDX-License-Identifier: GPL-2.0-only
// LockInfo: one row lock as operators see it. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <string>

#include "base/ids.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct LockInfo {       ///< for INFORMATION_SCHEMA
  TxnId owner;          ///< kNoTxn: it has written nothing
  uint64_t thread = 0;  ///< Txn::thread
  IndexId index;
  uint64_t key_hash = 0;  ///< 0 for a range
  /// Bytes of the key, known if a transaction waits for it; of a range, its beginning.
  std::string key{};
  std::string range_end{};  ///< first key after a range; empty: it has no end
  LockMode mode = LockMode::kShared;
  LockKind kind = LockKind::kRecord;
  bool granted = false;
};

/// A lock that is waited for, and one that is in its way.
struct LockWaitInfo {
  LockInfo waiting;
  LockInfo blocking;
};

}  // namespace rowan
