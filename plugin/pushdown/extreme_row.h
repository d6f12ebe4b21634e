// SPDX-License-Identifier: GPL-2.0-only
// Recognises conditions that only the greatest (least) rows of each group can meet:
//   t.c = (SELECT MAX(u.c) FROM t u WHERE u.g = t.g)
//   t.c = (SELECT u.c FROM t u WHERE u.g = t.g ORDER BY u.c DESC LIMIT 1)
//   (t.g, t.c) IN (SELECT u.g, MAX(u.c) FROM t u GROUP BY u.g)
//   t.pk IN (SELECT MAX(u.pk) FROM t u GROUP BY u.g), pk being unique by itself
// or with MIN. The condition itself stays, so a stricter one does no harm: the scan of the outer t
// need only deliver the rows of a group with the greatest c, including ties.
//
// Conditions, each of which has a test:
//   - the condition is a conjunct of the block's WHERE, and there t is neither on the inner side of
//     an outer join nor in a semi-join
//   - t and u are the same table, and u is the only one in the subquery, which has no
//     UNION, no window, no ROLLUP, and no LIMIT but the 1 of the second form
//   - its WHERE makes columns of u equal to the same columns of t, and otherwise keeps or drops
//     whole groups; a condition on other columns would change which row is the greatest
//   - the columns compared are those of the same name: c with MAX(c), g with g
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

/// Reduces the scan of each table of the block that has such a conjunct.
void ReduceToExtremeRows(AccessPath* root, JOIN* join);

}  // namespace rowan
