// SPDX-License-Identifier: GPL-2.0-only
// Recognises a limit on a rank:
//   SELECT ... FROM (SELECT ..., RANK() OVER (PARTITION BY g ORDER BY o) AS r FROM t WHERE ...) d
//   WHERE d.r <= n
// also with ROW_NUMBER() or DENSE_RANK(), "= n" and other upper limits, in a derived table, a view,
// a common table expression, or with QUALIFY. Rows of a group after the n-th rank do not change the
// ranks before them and do not pass the limit: the scan of t need not deliver them.
//
// Conditions, each of which has a test:
//   - the inner block reads one table, groups and aggregates nothing, has no HAVING, DISTINCT,
//     LIMIT
//   - all its window functions are among the three, and its windows rank by the same columns, which
//     are plain columns of the table
//   - its WHERE keeps or drops whole groups (HoldsForWholeGroups)
//   - only one reference reads it: a common table expression used twice is left alone; it is not
//     part of a UNION and not recursive
//   - the limit is a conjunct of the WHERE of the block that reads it
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Whether the scan of the block's table was reduced.
bool ReduceRankedRows(AccessPath* root, JOIN* join);

}  // namespace rowan
