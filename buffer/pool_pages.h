// SPDX-License-Identifier: GPL-2.0-only
// PoolPages: what the buffer pool holds, by space. Thread safety: plain values.
#pragma once

#include <cstdint>
#include <map>

#include "base/ids.h"

namespace rowan {

struct SpacePages {
  uint64_t pages = 0;
  uint64_t dirty = 0;
};
using PoolPages = std::map<SpaceId, SpacePages>;

}  // namespace rowan
