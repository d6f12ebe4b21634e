// SPDX-License-Identifier: GPL-2.0-only
// What a sort of the plan orders the rows of one table by, as values of a BatchPlan.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>
#include <vector>

#include "plugin/blocks/sort_values.h"

class Filesort;

namespace rowan {

/// nullopt: they do not order rows as the server's sort would, to the last detail.
std::optional<std::vector<SortKey>> ReadSortKeys(const Filesort& sort, BatchPlan* values);

}  // namespace rowan
