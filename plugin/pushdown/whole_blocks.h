// SPDX-License-Identifier: GPL-2.0-only
// Recognises query blocks over one table whose aggregates the engine can compute by itself, over
// batches of stored rows (plugin/blocks/):
//   SELECT COUNT(*), SUM(a * b) FROM t WHERE c < 5 AND ...
//   SELECT g, AVG(a), MAX(b) FROM t WHERE ... GROUP BY g HAVING ... ORDER BY ...
// The plan stays the server's: its scan delivers groups instead of rows, the condition above the
// scan goes, and the aggregate functions get what the groups have come to (docs/whole_queries.md).
//
// Conditions, each of which has a test:
//   - the table is Rowan's, not temporary, without generated columns, and read from a snapshot
//     without locks; partitions are read one after the other
//   - the aggregation stands directly above a scan of the table or of an index that has all
//     columns, forwards, with or without ranges, or of many rows with equal keys
//   - the condition above the scan is all of what programs can do (plugin/program/)
//   - aggregates are COUNT, SUM and AVG of numbers, MIN and MAX, BIT_AND, BIT_OR and BIT_XOR
//     of integers; COUNT, SUM and AVG also of distinct values; no ROLLUP, no window
//   - what the block groups by depends on nothing but columns of the table
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

/// For a SELECT, after all other recognisers.
void PushWholeBlock(THD* thd, AccessPath* root, JOIN* join);

}  // namespace rowan
