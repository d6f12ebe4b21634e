// SPDX-License-Identifier: GPL-2.0-only
// Recognises the sort of a few rows of a range, alone or of distinct rows:
//   SELECT c FROM t WHERE id BETWEEN 1 AND 100 ORDER BY c
//   SELECT DISTINCT c FROM t WHERE id BETWEEN 1 AND 100 ORDER BY c
// Most of what they cost the server are the keys of its sort and the temporary table that finds
// duplicates. The scan delivers the rows in order (plugin/blocks/sorted_rows.h); the sort goes, and
// the temporary table has one row at a time.
//
// Conditions, each of which has a test:
//   - the table is as whole_blocks.h says; a few ranges of an index that has all columns, for which
//     the optimizer expects few rows
//   - the condition above the ranges is all of what programs can do
//   - what is sorted by, and with DISTINCT selected, are columns of types that compare as in the
//     server's sort; texts are of collations whose order programs know
//   - DISTINCT is the only reason for the temporary table
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

class ha_rowan;

/// For a SELECT that reads only the handler's table, which has no other plan. Whether it has one
/// now.
bool PushOrderedRange(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join);

}  // namespace rowan
