// SPDX-License-Identifier: GPL-2.0-only
// Recognises ORDER BY ... LIMIT over one table without an index that has the order:
//   SELECT ... FROM t WHERE ... ORDER BY a DESC, b LIMIT n
// The server reads and sorts all rows to deliver n. The scan below its sort delivers only rows that
// may be among them (plugin/blocks/first_of_order.h); the sort stays and decides.
//
// Conditions, each of which has a test:
//   - the table and its access are as whole_blocks.h says; an index has all columns
//   - the sort stands directly above the scan, or above its condition, of which all is what
//     programs can do; it has a limit, and removes no duplicates
//   - what it sorts by are columns, or exact numbers computed of them
//   - texts are of collations whose order programs know, and sorted by all of their length
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

class ha_rowan;

/// For a SELECT that reads only the handler's table, which has no other plan. Whether the scan has
/// one now.
bool PushFirstOfOrder(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join);

}  // namespace rowan
