// SPDX-License-Identifier: GPL-2.0-only
// What a sort of the plan orders the rows of one table by, as values of a BatchPlan.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "plugin/blocks/sort_values.h"

class Filesort;
class Item;
class THD;

namespace rowan {

/// What an item of a sort above the plan's temporary table was copied from.
using ItemSource = FunctionRef<Item*(Item* item)>;

/// nullopt: they do not order rows as the server's sort would, to the last detail.
std::optional<std::vector<SortKey>> ReadSortKeys(const Filesort& sort, BatchPlan* values,
                                                 ItemSource source);
/// One, in ascending order.
std::optional<SortKey> ReadSortKey(THD* thd, Item* item, BatchPlan* values);

}  // namespace rowan
