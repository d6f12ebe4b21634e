// SPDX-License-Identifier: GPL-2.0-only
// What steps that take equal rows together, and aggregate functions, see of a row, as values of a
// BatchPlan. Thread safety: only the thread that optimises the statement.
#pragma once

#include <optional>
#include <vector>

#include "plugin/program/batch_plan.h"

class Item_sum;

namespace rowan {

/// The value of an item that the server evaluates for each row, without a warning or an error of
/// its own. nullopt: programs cannot read it.
std::optional<ValueId> ReadRowValue(Item* item, BatchPlan* values);

/// Values that are equal for the server may look different: 'a' and 'A', 0 and -0.
bool HasEqualVariants(const ValueType& type);

/// Adds the arguments of COUNT, SUM or AVG(DISTINCT ...). False: it is none, or the server would
/// have to see all rows.
bool AddDistinctArguments(Item_sum* function, BatchPlan* values, std::vector<ValueId>* ids);

/// The same for any function that repeated rows do not change.
bool AddSeenBy(Item_sum* function, BatchPlan* values, std::vector<ValueId>* ids);

}  // namespace rowan
