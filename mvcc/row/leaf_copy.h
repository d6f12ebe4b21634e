// SPDX-License-Identifier: GPL-2.0-only
// Copies entries of a leaf on which every entry is decided by its delete mark alone: one pass over
// the slots, the path of most rows that are read. Thread safety: the scan's.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

/// Adds the live ones among `slots` entries of the latched leaf to the batch, starting at the tree
/// cursor in the direction of the scan, while the batch has room. `*looked`: how many entries were
/// examined.
Status CopyDecided(ScanState* scan, size_t slots, size_t* looked);

}  // namespace rowan
