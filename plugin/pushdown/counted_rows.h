// SPDX-License-Identifier: GPL-2.0-only
// Recognises query blocks over one table where the server only needs the number of rows, or a few
// rows after many:
//   SELECT COUNT(*) FROM t WHERE ...        by ranges or equal values of an index
//   SELECT ... FROM t ... LIMIT n OFFSET m  by a table scan, a scan or one range of an index
// where nothing stands between that and the scan but conditions that hold for all rows of the range
// (range_condition.h). The plan is changed in place: COUNT becomes the server's own way of asking
// the engine for a number of rows, and the handler skips the rows of OFFSET instead of LIMIT
// (handler/row_plan.h). Where the plan reads the whole table, or an index other than the one that
// the conditions are about, the ranges are found here (range_of_condition.h).
//
// Conditions, each of which has a test:
//   - the table is Rowan's, not partitioned or temporary, and read from a snapshot without locks
//   - the index has one entry for each row, with whole columns where conditions look at them
//   - COUNT(*), or COUNT of something never NULL, and nothing else is selected; no HAVING, no
//     ROLLUP
//   - no SQL_CALC_FOUND_ROWS
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

/// For a SELECT.
void CountOrSkipRows(THD* thd, AccessPath* root, JOIN* join);

}  // namespace rowan
