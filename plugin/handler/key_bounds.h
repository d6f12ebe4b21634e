// SPDX-License-Identifier: GPL-2.0-only
// The server's keys, ranges and row references as the byte strings by which an engine table sorts.
// A search with the first k key parts is one for a byte prefix: its entries are exactly [prefix,
// successor of prefix), in either direction. A row reference (`ref` of a handler) is the primary
// key in the server's key image format, or the 8-byte hidden row id. Thread safety: pure functions.
#pragma once

#include "my_base.h"
#include "sql/key.h"
#include "sql/table.h"

#include "engine/range_estimates.h"
#include "plugin/handler/row_plan.h"
#include "plugin/handler/table_part.h"

namespace rowan {

inline key_part_map PartsInImage(const TABLE& table, uint index, key_part_map keypart_map) {
  // "The whole key" means the declared parts: the image has no more.
  if (keypart_map != HA_WHOLE_KEY) return keypart_map;
  return make_prev_keypart_map(table.key_info[index].user_defined_key_parts);
}

/// First byte string after, or at the start of, the entries named by a range's end.
void EncodeBound(const TablePart& part, uint index, const key_range& range, bool after,
                 ByteBuffer* bound);

/// The range between two ends, either of which may be null. False: it cannot be expressed so.
bool MakeRange(const TablePart& part, uint index, const key_range* low, const key_range* high,
               RowPlan::Range* range);

/// For the estimates of a statement.
struct EstimatedRanges {
  RowPlan::Range keys;  ///< memory
  RangeEstimates estimates;
};
/// Estimated rows between the ends, either of which may be null; 0 when there seem to be none.
Result<uint64_t> EstimateRange(const TablePart& part, uint index, const key_range* low,
                               const key_range* high, EstimatedRanges* estimated);

/// The index as the engine numbers it; false: the server may not search it by its key parts.
[[nodiscard]] bool IsSearchableKey(const TableCodec& codec, uint key, uint32_t* index_number);

// --- row references ---

[[nodiscard]] uint ReferenceBytes(const TablePart& part);
/// Puts the reference of the row that the reader read last, in `record`.
void PutReference(const TablePart& part, const uchar* record, uchar* reference);
/// The row's clustered key.
void EncodeReference(const TablePart& part, const uchar* reference, ByteBuffer* key);
[[nodiscard]] int CompareReferences(const TablePart& part, const uchar* left, const uchar* right);

}  // namespace rowan
