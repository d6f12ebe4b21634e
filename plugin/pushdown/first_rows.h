// SPDX-License-Identifier: GPL-2.0-only
// Recognises the first n rows of a group:
//   SELECT ... FROM t WHERE g = <what is fixed for the block> ORDER BY c LIMIT n
// as in a LATERAL derived table or a correlated subquery, which run for many groups. If the plan
// looks the group up and sorts it, the look-up delivers only the first n rows. If it scans another
// index in the required order and skips the rows of all other groups, which is expensive where the
// group's rows come late, the scan becomes a look-up in a key that has the group together and in
// that order.
//
// Conditions, each of which has a test:
//   - the block reads one table, and has no grouping, aggregate, DISTINCT, window or HAVING
//   - LIMIT and OFFSET are known when the plan is made; no SQL_CALC_FOUND_ROWS
//   - its WHERE keeps or drops whole groups; the columns that it makes equal to something define
//     them
//   - a key begins with those columns, followed by those of ORDER BY
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

void ReduceToFirstRows(THD* thd, AccessPath* root, JOIN* join);

}  // namespace rowan
