// SPDX-License-Identifier: GPL-2.0-only
// How the plan of a block reads a table, if that can be done in batches (plugin/blocks/): a scan of
// the table or of an index, forwards, with or without ranges, or a look-up of equal keys, under a
// condition of which all is compiled for batches. Keys to look up are the execution's: the handler
// gets them.
// Thread safety: only the thread that optimises the statement.
#pragma once

#include <memory>

#include "base/counters.h"
#include "plugin/blocks/block_reader.h"

struct AccessPath;
struct TABLE;
class JOIN;
class THD;

namespace rowan {

class BlockRows;
class ha_rowan;

struct BlockAccess {
  AccessPath* top = nullptr;   ///< a filter, or the scan itself
  AccessPath* scan = nullptr;  ///< what the filter reads
  BlockPlan plan{};
};

/// The filter directly above a scan of the table; null: there is none, or several scans.
AccessPath* FilterOf(AccessPath* root, JOIN* join, const TABLE* table);
/// The scan at `path`, or the one under the filter there.
AccessPath* ScanUnder(AccessPath* path);
/// Rows with equal keys are read, maybe several times in an execution.
bool LooksUpKeys(const AccessPath& scan);
/// False: batches would not pay, as in the many queries for few rows.
bool ReadsManyRows(const AccessPath& scan);
/// Rows that come in another order, or for others, are made of what the scan reads.
bool HasAllColumns(const ha_rowan& file, const BlockAccess& access);

/// Of the scan at `top`, or the one under the filter there. kCount: `*access` is complete;
/// otherwise the counter of what is in the way.
Counter ReadBlockAccess(THD* thd, ha_rowan* file, AccessPath* top, BlockAccess* access);
/// Makes the scan deliver these rows, without the filter.
void ReadInBatches(const BlockAccess& access, ha_rowan* file, std::unique_ptr<BlockRows> rows);

}  // namespace rowan
