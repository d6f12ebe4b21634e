// SPDX-License-Identifier: GPL-2.0-only
// LockInfo: one row lock as operators see it.
#pragma once

#include <cstdint>

#include "base/ids.h"
#include "mvcc/lock/lock_mode.h"

namespace rowan {

struct LockInfo {  ///< for INFORMATION_SCHEMA
  TxnId owner;
  IndexId index;
  uint64_t key_hash = 0;  ///< 0 for a range
  LockMode mode = LockMode::kShared;
  LockKind kind = LockKind::kRecord;
  bool granted = false;
};

}  // namespace rowan
