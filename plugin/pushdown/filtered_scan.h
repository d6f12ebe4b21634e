// SPDX-License-Identifier: GPL-2.0-only
// Recognises a condition above a scan of many rows of the block's only table, and lets the engine
// evaluate it over batches of stored rows (plugin/blocks/filtered_rows.h): no record is made of a
// row that fails. The rest of the plan gets the same rows in the same order.
//
// Conditions, each of which has a test:
//   - the table and its access are as whole_blocks.h says, but an index need not have all columns
//   - all of the condition is what programs can do
//   - of ranges, the server expects more than a few rows: compiling costs as much as some tens
#pragma once

struct AccessPath;
class JOIN;
class THD;

namespace rowan {

class ha_rowan;

/// For a SELECT that reads only the handler's table, which has no other plan.
void PushFilter(THD* thd, ha_rowan* file, AccessPath* root, JOIN* join);

}  // namespace rowan
