// SPDX-License-Identifier: GPL-2.0-only
// Table statistics from a few page visits: row and page estimates. Thread-safe.
#pragma once

#include "base/status.h"
#include "engine/table.h"
#include "space/page_allocator.h"

namespace rowan {

/// Recomputes the estimates and resets the change count.
Status RefreshTableStatistics(PageAllocator* allocator, Table* table);

}  // namespace rowan
