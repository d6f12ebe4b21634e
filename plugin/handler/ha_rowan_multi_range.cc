// SPDX-License-Identifier: GPL-2.0-only
// Multi-range reads by the server's own means: a second handler collects row references from the
// index, they are sorted, and this handler fetches the rows in the order of the primary key. The
// optimizer chooses it by hint or switch, or by cost for tables larger than the buffer pool. Lists
// of primary keys are read in their order, with the rows that follow read ahead (points_ahead.h).
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "plugin/handler/key_bounds.h"

namespace rowan {
namespace {

/// Fewer rows are read before others could be asked for.
constexpr uint kRangesOfAList = 4;

}  // namespace

int ha_rowan::multi_range_read_init(RANGE_SEQ_IF* sequence, void* sequence_start, uint ranges,
                                    uint mode, HANDLER_BUFFER* buffer) {
  if (block_rows_ != nullptr) {
    block_rows_->Restart(nullptr);
    return 0;
  }
  // Without a snapshot or locks a row may be deleted between its reference and its fetch.
  if (read_options_.mode == ReadMode::kReadUncommitted) mode |= HA_MRR_USE_DEFAULT_IMPL;
  // The second handler would collect every row of the groups, and not know which rows to skip.
  if (groups_.plan() != nullptr || SkipsRows()) mode |= HA_MRR_USE_DEFAULT_IMPL;
  const bool sorts = (mode & (HA_MRR_USE_DEFAULT_IMPL | HA_MRR_SORTED)) == 0;
  RANGE_SEQ_IF listed{};
  // Without association the keys are those of a plan, which stay.
  const bool is_list = !sorts && ranges >= kRangesOfAList && (mode & HA_MRR_NO_ASSOCIATION) != 0 &&
                       table->part_info == nullptr && active_index == table->s->primary_key &&
                       groups_.plan() == nullptr;
  if (is_list) {
    if (points_ahead_ == nullptr) points_ahead_ = std::make_unique_for_overwrite<PointsAhead>();
    points_ahead_->Start(*sequence, sequence_start, ranges, mode);
    listed.init = [](void* self, uint, uint) -> range_seq_t { return self; };
    listed.next = [](range_seq_t self, KEY_MULTI_RANGE* range) {
      return static_cast<ha_rowan*>(self)->NextPoint(range);
    };
    sequence = &listed;
    sequence_start = this;
    reader()->ExpectManyRows();
  }
  if (sorts && sorted_ranges_ == nullptr) sorted_ranges_ = std::make_unique<DsMrr_impl>(this);
  if (sorted_ranges_ == nullptr) {
    return handler::multi_range_read_init(sequence, sequence_start, ranges, mode, buffer);
  }
  sorted_ranges_->init(table);
  // The second handler is a clone, made now if there is none. It lives as long as sorted_ranges_.
  last_clone_ = nullptr;
  const uint64_t put_before = second_ == nullptr ? 0 : second_->references_put_;
  const int error = sorted_ranges_->dsmrr_init(sequence, sequence_start, ranges, mode, buffer);
  if (last_clone_ != nullptr) second_ = last_clone_;
  references_ahead_ = {};
  if (error != 0 || !sorts || second_ == nullptr) return error;
  const size_t step = ref_length + ((mode & HA_MRR_NO_ASSOCIATION) != 0 ? 0 : sizeof(char*));
  references_ahead_ = {buffer->buffer, static_cast<size_t>(buffer->buffer_end - buffer->buffer),
                       step, &second_->references_put_, put_before};
  return error;
}

uint ha_rowan::NextPoint(KEY_MULTI_RANGE* range) {
  const bool looks_ahead = reader()->WantsRowsAhead();
  if (points_ahead_->Next(looks_ahead, range) != 0) return 1;
  if (!looks_ahead) return 0;
  reader()->ReadRowsAhead(points_ahead_->known(), [this](size_t position, ByteBuffer* key) {
    const key_range& start = points_ahead_->At(position).start_key;
    key->clear();
    if (start.keypart_map != 0) EncodeBound(*part_, active_index, start, false, key);
  });
  return 0;
}

void ha_rowan::ReadAheadFrom(const uchar* reference) {
  const RowsAhead::Known known = references_ahead_.Find(reference);
  if (known.size == 0) return;
  reader()->ExpectManyRows();
  if (!reader()->WantsRowsAhead()) return;
  reader()->ReadRowsAhead(known, [this](size_t position, ByteBuffer* key) {
    EncodeReference(*part_, references_ahead_.At(position), key);
  });
}

int ha_rowan::multi_range_read_next(char** range_info) {
  if (block_rows_ != nullptr) return ReadOfBlock(table->record[0]);
  if (sorted_ranges_ == nullptr) return handler::multi_range_read_next(range_info);
  return sorted_ranges_->dsmrr_next(range_info);
}

void ha_rowan::EndMultiRange() {
  references_ahead_ = {};
  if (sorted_ranges_ != nullptr) sorted_ranges_->dsmrr_close();
}

ha_rows ha_rowan::multi_range_read_info_const(uint index, RANGE_SEQ_IF* sequence,
                                              void* sequence_start, uint ranges, uint* buffer_bytes,
                                              uint* flags, bool* force_default,
                                              Cost_estimate* cost) {
  // Rows that the clustered index delivers in its order need no sorting of references.
  if (index == table->s->primary_key && primary_key_is_clustered()) {
    return handler::multi_range_read_info_const(index, sequence, sequence_start, ranges,
                                                buffer_bytes, flags, force_default, cost);
  }
  DsMrr_impl sorted_ranges(this);
  sorted_ranges.init(table);
  return sorted_ranges.dsmrr_info_const(index, sequence, sequence_start, ranges, buffer_bytes,
                                        flags, cost);
}

ha_rows ha_rowan::multi_range_read_info(uint index, uint ranges, uint rows, uint* buffer_bytes,
                                        uint* flags, Cost_estimate* cost) {
  DsMrr_impl sorted_ranges(this);
  sorted_ranges.init(table);
  return sorted_ranges.dsmrr_info(index, ranges, rows, buffer_bytes, flags, cost);
}

}  // namespace rowan
