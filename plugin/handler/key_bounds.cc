// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/key_bounds.h"

#include <cstring>

#include "base/key_prefix.h"
#include "plugin/handler/spatial_search.h"

namespace rowan {
namespace {

KEY* PrimaryKey(const TablePart& part) {
  return &part.server_table()->key_info[part.codec().KeyOfIndexNumber(0)];
}

}  // namespace

void EncodeBound(const TablePart& part, uint index, const key_range& range, bool after,
                 ByteBuffer* bound) {
  bool complete = false;
  part.codec().EncodeSearchKey(index, range.key,
                               PartsInImage(*part.server_table(), index, range.keypart_map), bound,
                               &complete);
  if (after) PrefixSuccessor(*bound, bound);
}

bool MakeRange(const TablePart& part, uint index, const key_range* low, const key_range* high,
               RowPlan::Range* range) {
  if (low != nullptr) {
    EncodeBound(part, index, *low, low->flag == HA_READ_AFTER_KEY, &range->from);
    // "After" the last possible key means nothing at one end and everything at the other.
    if (range->from.empty()) return false;
  }
  if (high != nullptr) {
    EncodeBound(part, index, *high, high->flag != HA_READ_BEFORE_KEY, &range->end);
  }
  return true;
}

Result<uint64_t> EstimateRange(const TablePart& part, uint index, const key_range* low,
                               const key_range* high, EstimatedRanges* estimated) {
  const uint32_t index_number = part.codec().IndexNumberOfKey(index);
  if (part.codec().SpatialReferenceOf(index_number) != nullptr) {
    return EstimateBoxes(part, index_number, low, &estimated->estimates);
  }
  const auto encode = [&](const key_range* bound, ByteBuffer* key) {
    if (bound == nullptr) return key->clear();
    EncodeBound(part, index, *bound, bound->flag == HA_READ_AFTER_KEY, key);
  };
  RowPlan::Range& keys = estimated->keys;
  encode(low, &keys.from);
  encode(high, &keys.end);
  return estimated->estimates.Estimate(*part.table(), index_number, keys.from, keys.end);
}

bool IsSearchableKey(const TableCodec& codec, uint key, uint32_t* index_number) {
  *index_number = codec.IndexNumberOfKey(key);
  return codec.IsSearchable(*index_number) && !codec.HasSeveralEntries(*index_number) &&
         codec.SpatialReferenceOf(*index_number) == nullptr;
}

// --- row references ---

uint ReferenceBytes(const TablePart& part) {
  return part.codec().has_primary_key() ? PrimaryKey(part)->key_length
                                        : static_cast<uint>(sizeof(uint64_t));
}

void PutReference(const TablePart& part, const uchar* record, uchar* reference) {
  if (part.codec().has_primary_key()) {
    key_copy(reference, record, PrimaryKey(part), ReferenceBytes(part));
  } else {
    memcpy(reference, part.reader()->row_key().data(), ReferenceBytes(part));
  }
}

void EncodeReference(const TablePart& part, const uchar* reference, ByteBuffer* key) {
  if (part.codec().has_primary_key()) {
    bool complete = false;
    part.codec().EncodeSearchKey(part.codec().KeyOfIndexNumber(0), reference, HA_WHOLE_KEY, key,
                                 &complete);
  } else {
    const auto* bytes = reinterpret_cast<const std::byte*>(reference);
    key->assign(bytes, bytes + ReferenceBytes(part));
  }
}

int CompareReferences(const TablePart& part, const uchar* left, const uchar* right) {
  if (!part.codec().has_primary_key()) return memcmp(left, right, ReferenceBytes(part));
  ByteBuffer left_key;
  ByteBuffer right_key;
  EncodeReference(part, left, &left_key);
  EncodeReference(part, right, &right_key);
  return CompareBytes(left_key, right_key);
}

}  // namespace rowan
