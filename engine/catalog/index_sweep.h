// SPDX-License-Identifier: GPL-2.0-only
// Frees what an index build that is rolled back has taken. Nothing refers to the pages of a tree in
// the making, so they are found by what they say of themselves: every node names its index, and ids
// of indexes are never used again. Thread safety: one thread per index; others may use the space.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "space/page_allocator.h"

namespace rowan {

/// Frees all pages in use of the space whose header names `index`, from `*position` on, which moves
/// behind them. Reads every page in use, many at a time; a step of the budget for each but one.
/// kBusy when the budget is used up. May be repeated, also after a crash in the middle. REQUIRES:
/// nobody uses the index.
Status FreePagesOf(PageAllocator* allocator, SpaceId space, IndexId index, PageNumber* position,
                   WorkBudget* budget);

}  // namespace rowan
