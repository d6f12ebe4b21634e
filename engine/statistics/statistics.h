// SPDX-License-Identifier: GPL-2.0-only
// Table statistics: how many rows and pages, and how many rows share key parts. Indexes of up to
// kLeavesCounted leaves are counted, larger ones estimated from samples. Delete-marked entries do
// not count. Thread-safe; may run concurrently with anything.
#pragma once

#include <chrono>
#include <cstdint>

#include "base/function_ref.h"
#include "base/status.h"
#include "engine/catalog/table.h"
#include "space/page_allocator.h"

namespace rowan {

/// Counting this many takes about a millisecond when they are in memory.
inline constexpr uint32_t kLeavesCounted = 64;

/// Recomputes everything, publishes it in the table and resets its change count. Larger indexes are
/// estimated from `leaves` sampled leaves. Without KeyParts only rows and pages. kInterrupted:
/// `interrupted`, if given, returned true between two leaves.
Status RefreshTableStatistics(PageAllocator* allocator, Table* table, uint32_t leaves,
                              FunctionRef<bool()> interrupted);

/// True when the background should refresh the table: never counted, outdated, or counted a while
/// ago and a tenth of the rows changed (in a small table, any).
bool RefreshIsDue(Table* table, std::chrono::steady_clock::time_point now);

}  // namespace rowan
