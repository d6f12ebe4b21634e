// SPDX-License-Identifier: GPL-2.0-only
// The server's hook for planned query blocks: handlerton::push_to_engine. Each recogniser looks for
// one shape of query of which the engine can do a part better than the plan, and leaves everything
// else alone.
//   counted_rows.h        COUNT over ranges, LIMIT ... OFFSET
//   ranked_rows.h         limits on RANK(), ROW_NUMBER(), DENSE_RANK()
//   extremes_of_groups.h  MAX or MIN of each group
//   extreme_row.h         rows equal to those: = (SELECT MAX ...), IN (SELECT ... GROUP BY)
//   anti_join.h           rows for which there is no greater one
//   first_rows.h          ORDER BY ... LIMIT within a group
//   whole_blocks.h        conditions and aggregates of one table
//   joined_scans.h        conditions of tables that are joined
// Only SELECT is considered. The plan may be changed in place; the table's handler is told what to
// do and forgets it at the end of the statement.
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

/// Never fails.
int PushToEngine(THD* thd, AccessPath* root, JOIN* join);

}  // namespace rowan
