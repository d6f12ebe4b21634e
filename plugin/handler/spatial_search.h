// SPDX-License-Identifier: GPL-2.0-only
// Searches of SPATIAL indexes. The server passes a bounding box and evaluates its own condition on
// the rows it gets. Thread safety: the handler's.
#pragma once

#include "engine/range_estimates.h"
#include "plugin/handler/table_part.h"

#include "my_base.h"

namespace rowan {

/// HANDLER steps through any index and searches it by keys; in a SPATIAL one that finds nothing,
/// like in InnoDB.
void FindNothing(TableCursor* reader);

struct BoxSearch {
  const unsigned char* box = nullptr;  ///< in the server's key format
  ha_rkey_function relation = HA_READ_MBR_INTERSECT;
  SpatialLocks locks = SpatialLocks::kNone;
};
/// Reads the first row from the index of the reader's scan. kUnsupported: there is no such search.
Status SearchBoxes(const BoxSearch& search, TablePart* part, unsigned char* record);
/// Reads the first row of the next part to search, after the end of the previous one. kEndOfRange.
Status ReadNextBoxes(TablePart* part, unsigned char* record);

/// How many rows a search finds. kUnsupported: `range`, which may be null, is no box.
Result<uint64_t> EstimateBoxes(const TablePart& part, uint32_t index_number, const key_range* range,
                               RangeEstimates* estimates);

}  // namespace rowan
