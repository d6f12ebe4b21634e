// SPDX-License-Identifier: GPL-2.0-only
// Snapshot (read view): O(1) to take. It is a pair: every transaction below `low_txn` had finished
// (committed or fully rolled back) when it was taken, and of the others, those that committed with
// a sequence number below `csn` are visible. low_txn is loaded first. `high_txn` = first id not yet
// assigned; ids at or above it are invisible without a look-up.
// Rule for a row or entry written by transaction t, read with snapshot s by transaction own:
//   t == own            visible
//   t <  s.low_txn      visible
//   t >= s.high_txn     invisible
//   otherwise           visible iff the commit ring has csn(t) < s.csn
#pragma once

#include <cstdint>

#include "base/ids.h"

namespace rowan {

struct Snapshot {
  TxnId low_txn;
  TxnId high_txn;
  Csn csn;
  /// published place in the snapshot registry; UINT32_MAX = not active
  uint32_t slot = UINT32_MAX;

  [[nodiscard]] bool active() const { return slot != UINT32_MAX; }
};

}  // namespace rowan
