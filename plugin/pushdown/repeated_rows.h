// SPDX-License-Identifier: GPL-2.0-only
// Recognises steps of a plan to which a row means nothing if one with the same values came before:
//   SELECT DISTINCT a, b FROM t WHERE ...
//   SELECT g, COUNT(DISTINCT a), MAX(b) FROM t WHERE ... GROUP BY g      by a sort
// The scan delivers such rows once (plugin/blocks/distinct_rows.h); the step stays and decides.
//
// Conditions, each of which has a test:
//   - the table and its access are as whole_blocks.h says; of ranges the server expects more than a
//     few rows
//   - the step is a temporary table of distinct rows, a sort that removes duplicates, or groups of
//     sorted rows whose aggregates are all DISTINCT, MIN or MAX; it stands directly above the scan
//     or its condition
//   - what the step sees of a row are columns, and what programs can compute of them
//   - where a sort puts equal texts in an order of its own, none of them are shown
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

class ha_rowan;

/// For a SELECT that reads only the handler's table, which has no other plan. Whether it has one
/// now.
bool DropRepeatedRows(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join);

}  // namespace rowan
