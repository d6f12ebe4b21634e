// SPDX-License-Identifier: GPL-2.0-only
// Frees the pages of an index build that is rolled back. Nothing refers to the pages of an
// unfinished tree, so they are found by their headers: every node names its index, and index ids
// are never reused. Thread safety: one thread per index; others may use the space.
#pragma once

#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "space/page_allocator.h"

namespace rowan {

/// Frees all pages in use of the space whose header names `index`, from `*position` on, which
/// advances. Reads every page in use, many at a time; a step of the budget for each but one. kBusy
/// when the budget is used up. May be repeated, also after a crash in the middle. REQUIRES: no
/// other thread uses the index.
Status FreePagesOf(PageAllocator* allocator, SpaceId space, IndexId index, PageNumber* position,
                   WorkBudget* budget);

}  // namespace rowan
