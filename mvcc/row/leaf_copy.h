// SPDX-License-Identifier: GPL-2.0-only
// Copies entries of a leaf on which every entry is decided by its delete mark alone: one pass over
// the slots, which most rows that anybody reads go through. Thread safety: the scan's.
#pragma once

#include <cstddef>

#include "base/status.h"
#include "mvcc/row/scan_state.h"

namespace rowan {

/// Adds the live ones among `slots` entries of the latched leaf to the batch, from the one under
/// the tree cursor on in the direction of the scan, while the batch has room. `*looked`: at how
/// many it has looked then.
Status CopyDecided(ScanState* scan, size_t slots, size_t* looked);

}  // namespace rowan
