// SPDX-License-Identifier: GPL-2.0-only
// Recognises queries for rows that have no greater one in their group:
//   FROM t LEFT JOIN t u ON u.g = t.g AND u.c > t.c WHERE u.c IS NULL
//   FROM t WHERE NOT EXISTS (SELECT ... FROM t u WHERE u.g = t.g AND u.c > t.c)
// and with "<" for rows that have no smaller one. Of t only the greatest rows of each group can
// remain, including ties; of u the greatest row of a group tells whether there is a greater one at
// all. The join itself stays.
//
// Conditions, each of which has a test:
//   - t and u are the same table, u is alone on the inner side, and t on no inner side
//   - the join condition is equalities of columns of the same name, and one "<" or ">" of such
//     columns, and nothing else
//   - all these columns are NOT NULL: a row with NULL in one of them has no greater one
//   - for a LEFT JOIN, the WHERE requires a NOT NULL column of u to be NULL
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

void ReduceAntiJoins(AccessPath* root, JOIN* join);

}  // namespace rowan
