// SPDX-License-Identifier: GPL-2.0-only
// OldestSnapshot: what keeps old row versions, as operators see it. Plain data.
#pragma once

#include <cstdint>

namespace rowan {

struct OldestSnapshot {
  bool open = false;    ///< there is one
  uint64_t age_ms = 0;  ///< to about a purge worker's tick
  uint64_t thread = 0;  ///< Txn::thread of its session; 0: a thread of the engine's
};

}  // namespace rowan
