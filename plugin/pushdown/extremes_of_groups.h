// SPDX-License-Identifier: GPL-2.0-only
// Recognises blocks that need nothing of each group but MAX (or MIN) of one column:
//   SELECT MAX(c) FROM t WHERE g = <what is fixed for the block>     as a correlated subquery
//   SELECT g, MAX(c) FROM t ... GROUP BY g         where the server does not scan groups by itself
// The scan delivers the row with the greatest (least) c of each group to the aggregation.
//
// Conditions, each of which has a test:
//   - the block reads one table, and has no window, ROLLUP or HAVING
//   - all its aggregates are MAX of one column, or all are MIN of it
//   - apart from them it selects only what is the same for the whole group
//   - its WHERE keeps or drops whole groups
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Whether the scan of the block's table was reduced.
bool ReduceToExtremesOfGroups(AccessPath* root, JOIN* join);

}  // namespace rowan
