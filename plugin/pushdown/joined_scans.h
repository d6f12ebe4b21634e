// SPDX-License-Identifier: GPL-2.0-only
// Recognises conditions above scans of tables that a block joins, and lets the engine evaluate them
// over batches of stored rows (plugin/blocks/filtered_rows.h), as filtered_scan.h does for a block
// of one table. The joins and their order stay the server's: the scan delivers the same rows in the
// same order, on whichever side of a join it stands, maybe without some that find no partner
// (star_join.h).
//
// Conditions, each of which has a test:
//   - the table is Rowan's, not partitioned or temporary, without generated columns, and read from
//     a snapshot without locks
//   - the plan reads it once, forwards, by a scan of the table, of an index, or of ranges, with
//     more than a few expected rows
//   - the filter directly above the scan is all of what programs can do, of this table's columns
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

/// For a SELECT, after all other recognisers.
void PushJoinedScans(THD* thd, AccessPath* root, JOIN* join);

}  // namespace rowan
