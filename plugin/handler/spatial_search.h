// SPDX-License-Identifier: GPL-2.0-only
// Searches of SPATIAL indexes. The server asks with a bounding box and evaluates its own condition
// on the rows it gets. Thread safety: the handler's.
#pragma once

#include "plugin/handler/table_part.h"

#include "my_base.h"

namespace rowan {

/// HANDLER steps through any index and searches it by keys; a SPATIAL one has nothing to find that
/// way, and InnoDB finds nothing either.
void FindNothing(TableCursor* reader);

struct BoxSearch {
  const unsigned char* box = nullptr;  ///< as the server's keys have it
  ha_rkey_function relation = HA_READ_MBR_INTERSECT;
  SpatialLocks locks = SpatialLocks::kNone;
};
/// The first row, of the index that the reader's scan is on. kUnsupported: there is no such search.
Status SearchBoxes(const BoxSearch& search, TablePart* part, unsigned char* record);
/// The first row of what is left to search, after the end of what was read. kEndOfRange.
Status ReadNextBoxes(TablePart* part, unsigned char* record);

/// How many rows a search finds. kUnsupported: `range`, which may be null, is not that of a box.
Result<uint64_t> EstimateBoxes(const TablePart& part, uint32_t index_number,
                               const key_range* range);

}  // namespace rowan
