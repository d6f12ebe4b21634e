// SPDX-License-Identifier: GPL-2.0-only
// Deadlock: a resolved deadlock, as operators see it. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "mvcc/lock/lock_info.h"

namespace rowan {

/// Each member waits for a lock that the next one holds, the last one for a lock of the first.
struct Deadlock {
  struct Member {
    TxnId id;  ///< kNoTxn: it has written nothing
    uint64_t undo_records = 0;
    uint64_t locks = 0;
    LockInfo wanted;
    std::vector<LockInfo> held;  ///< the newest ones; folded and implicit locks are not among them
    bool victim = false;
  };
  uint64_t number = 0;  ///< since the start; 0: there was none
  int64_t unix_seconds = 0;
  std::vector<Member> members;
};

}  // namespace rowan
