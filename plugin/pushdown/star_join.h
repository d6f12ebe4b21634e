// SPDX-License-Identifier: GPL-2.0-only
// Recognises the tables with few rows (dimensions) that the plan joins to a scan of many rows, and
// makes of their conditions a filter of the scan (plugin/blocks/semi_joins.h): a row that finds no
// partner in one of them need not be delivered. The joins stay, and decide on what is left.
//
// From the scan upwards, as long as each step is one of these:
//   - an inner join that looks up a dimension's rows by an index, by columns alone, for the scan's
//   - an inner hash join, by columns alone, with the scan among the rows that are probed
// A dimension without a condition, and a table that is not looked up by a column of the scan, drop
// nothing; a condition that is not all of what programs can do ends the search, as it may have a
// warning or an error for a row that would be dropped. So does everything else: outer joins,
// semi-joins, conditions on several tables, sorts.
//
// Conditions, each of which has a test:
//   - the dimension is Rowan's and read from a snapshot, as joined_scans.h says of the scan's
//     table, and has at most a quarter of the rows that the scan is expected to read
//   - both columns are of one type: whole numbers, DECIMAL, dates and times, or texts whose
//     equality is that of their bytes
//   - no LIMIT that may end the scan early, and no stored function, which may change a dimension
#pragma once

#include <memory>

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

class BatchPlan;
class RowReduction;

/// Of the scan at `top`, or under the filter there, of which `values` is the plan. Null: nothing
/// can be dropped.
std::unique_ptr<RowReduction> FindSemiJoins(THD* thd, AccessPath* root, JOIN* join, AccessPath* top,
                                            BatchPlan* values);

}  // namespace rowan
