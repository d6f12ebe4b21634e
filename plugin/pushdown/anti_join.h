// SPDX-License-Identifier: GPL-2.0-only
// Recognises rows for which no greater one is in their group:
//   FROM t LEFT JOIN t u ON u.g = t.g AND u.c > t.c WHERE u.c IS NULL
//   FROM t WHERE NOT EXISTS (SELECT ... FROM t u WHERE u.g = t.g AND u.c > t.c)
// and with "<" those for which none is less. Of t only the greatest rows of each group can be left,
// ties included; and of u the greatest row of a group tells whether there is a greater one at all.
// The join itself stays.
//
// Conditions, each of which has a test:
//   - t and u are the same table, u is alone on the inner side, and t on no inner side
//   - the join condition is equalities of columns of the same name, and one "<" or ">" of such
//     columns, and nothing else
//   - all these columns are NOT NULL: a row with NULL in one of them has no greater one
//   - of a LEFT JOIN the WHERE wants a column of u to be NULL that is NOT NULL
#pragma once

struct AccessPath;
class JOIN;

namespace rowan {

void ReduceAntiJoins(AccessPath* root, JOIN* join);

}  // namespace rowan
