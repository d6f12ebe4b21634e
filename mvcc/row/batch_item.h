// SPDX-License-Identifier: GPL-2.0-only
// BatchItem: where a scan has put one entry that it has copied. Thread safety: plain values.
#pragma once

#include <cstdint>

#include "btree/node.h"

namespace rowan {

/// One copied entry. `pending`: the newest version is not ours to see; value is that version's row,
/// and the older one is yet to be built, without the latch.
struct BatchItem {
  uint32_t key_offset = 0;
  uint32_t value_offset = 0;
  uint32_t value_bytes = 0;
  uint16_t key_bytes = 0;   ///< without repeat
  bool has_repeat = false;  ///< it follows the key
  bool pending = false;
};
static_assert(sizeof(BatchItem) == 16);
static_assert(NodeMaxKeyBytes(kPageSizeMax) <= UINT16_MAX);

}  // namespace rowan
