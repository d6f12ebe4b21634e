// SPDX-License-Identifier: GPL-2.0-only
// Reading and writing rows of a partitioned table: ha_rowan's code in the partition that the
// server's Partition_helper names.
#include "plugin/server/abi_guard.h"

#include "plugin/partition/ha_rowan_part.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "my_bitmap.h"
#include "my_byteorder.h"
#include "mysql/plugin.h"
#include "sql/field.h"
#include "sql/key.h"
#include "sql/partition_info.h"
#include "sql/sql_class.h"
#include "sql/sql_partition.h"

#include "plugin/codec/table_layout.h"
#include "plugin/handler/auto_increment.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/row_sample.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

constexpr size_t kHiddenKeyBytes = sizeof(uint64_t);

/// Order of two entries of the merge: by their keys, then by the hidden keys and the partitions'
/// numbers, which precede the records.
int CompareWithReference(KEY** keys, uchar* left, uchar* right) {
  const int by_key = key_rec_cmp(keys, left, right);
  if (by_key != 0) return by_key;
  const int by_row = memcmp(left - kHiddenKeyBytes, right - kHiddenKeyBytes, kHiddenKeyBytes);
  if (by_row != 0) return by_row;
  const size_t bytes = kHiddenKeyBytes + PARTITION_BYTES_IN_POS;
  return static_cast<int>(uint2korr(left - bytes)) - static_cast<int>(uint2korr(right - bytes));
}

bool StoreAlike(const IndexLayout& one, const IndexLayout& other) {
  const auto same_part = [](const KeyPartCodec& part, const KeyPartCodec& of_other) {
    return part.column == of_other.column;
  };
  return one.server_key == other.server_key && one.payload_columns == other.payload_columns &&
         std::equal(one.parts.begin(), one.parts.end(), other.parts.begin(), other.parts.end(),
                    same_part);
}

/// What is written now is the same bytes by both layouts of the table, of which one may have been
/// altered more often.
bool StoreAlike(const TableLayout& one, const TableLayout& other) {
  if (&one == &other) return true;
  const auto same_run = [](const CopyRun& run, const CopyRun& of_other) {
    return run.record_offset == of_other.record_offset && run.row_offset == of_other.row_offset &&
           run.length == of_other.length;
  };
  const auto same_index = [](const IndexLayout& index, const IndexLayout& of_other) {
    return StoreAlike(index, of_other);
  };
  return one.generation == other.generation && one.shape.null_bytes == other.shape.null_bytes &&
         one.shape.fixed_bytes == other.shape.fixed_bytes &&
         one.variable_columns == other.variable_columns &&
         std::equal(one.runs.begin(), one.runs.end(), other.runs.begin(), other.runs.end(),
                    same_run) &&
         std::equal(one.indexes.begin(), one.indexes.end(), other.indexes.begin(),
                    other.indexes.end(), same_index);
}

/// When the server opens the table, it marks columns that it finds in expressions, and leaves the
/// marks. A lookup takes a marked column for one given by its key: it would read only one of the
/// partitions that may have its rows.
void UnmarkColumns(const partition_info& info) {
  if (info.full_part_field_array == nullptr) return;
  for (Field** field = info.full_part_field_array; *field != nullptr; ++field) {
    (*field)->clear_flag(GET_FIXED_FIELDS_FLAG);
  }
}

}  // namespace

// --- index scans ---

int ha_rowan_part::index_init(uint index, bool sorted) {
  active_index = index;
  if (m_part_info->get_first_used_partition() == MY_BIT_NONE) return 0;
  ++scan_;
  UnmarkColumns(*m_part_info);
  int error = ph_index_init_setup(index, sorted);
  if (error == 0 && sorted) {
    ReadWhatOrderNeeds();
    error = init_record_priority_queue();
  }
  if (error != 0) destroy_record_priority_queue();
  return error;
}

void ha_rowan_part::ReadWhatOrderNeeds() {
  for (KEY** key = m_curr_key_info; *key != nullptr; ++key) {
    for (uint i = 0; i < (*key)->user_defined_key_parts; ++i) {
      // Not the key part's own field: a prefix's does not know how it is computed.
      Field* field = table->field[(*key)->key_part[i].fieldnr - 1u];
      if (!field->is_virtual_gcol()) {
        bitmap_set_bit(table->read_set, field->field_index());
        continue;
      }
      table->mark_gcol_in_maps(field);
      key_read_.merges = true;
      if (field->is_flag_set(BLOB_FLAG)) computed_blobs_.push_back(down_cast<Field_blob*>(field));
    }
  }
  if (!key_read_.merges) return;
  Select(m_part_info->get_first_used_partition());
  part_->computed_columns()->AddSources(table->read_set);
}

int ha_rowan_part::KeepComputed(int error, uchar* record) {
  if (error != 0 || computed_blobs_.empty()) return error;
  std::vector<std::string>& kept = uses_[selected_].computed;
  kept.resize(computed_blobs_.size());
  const ptrdiff_t offset = record - table->record[0];
  for (size_t i = 0; i < kept.size(); ++i) {
    Field_blob* field = computed_blobs_[i];
    if (field->is_null(offset)) continue;
    kept[i].assign(reinterpret_cast<const char*>(field->get_blob_data(offset)),
                   field->get_length(offset));
    field->set_ptr_offset(offset, static_cast<uint32>(kept[i].size()),
                          reinterpret_cast<const uchar*>(kept[i].data()));
  }
  return 0;
}

int ha_rowan_part::index_end() {
  destroy_record_priority_queue();
  CloseScans();
  key_read_.merges = false;
  computed_blobs_.clear();
  active_index = MAX_KEY;
  EndMultiRange();
  return 0;
}

void ha_rowan_part::SelectForScan(uint part) {
  Select(part);
  if (uses_[part].scan == scan_) return;
  uses_[part].scan = scan_;
  scanned_.push_back(part);
  ha_rowan::index_init(active_index, false);
}

void ha_rowan_part::CloseScans() {
  for (const uint part : scanned_) {
    MoveTo(part);
    reader()->CloseScan();
  }
  scanned_.clear();
}

void ha_rowan_part::SortByReference() {
  if (m_queue == nullptr || codec().has_primary_key()) return;
  m_ref_usage = REF_USED_FOR_SORT;
  m_queue->m_fun = CompareWithReference;
}

void ha_rowan_part::copy_cached_row(uchar* to, const uchar* from) {
  if (!preserves_fields_) {
    memcpy(to, from, m_rec_length);
    return;
  }
  const MY_BITMAP* columns = table->read_set;
  for (uint i = bitmap_get_first_set(columns); i != MY_BIT_NONE;
       i = bitmap_get_next_set(columns, i)) {
    const Field* field = table->field[i];
    const ptrdiff_t offset = field->offset(table->record[0]);
    memcpy(to + offset, from + offset, field->pack_length_in_rec());
    if (!field->is_nullable()) continue;
    uchar* const null_byte = to + field->null_offset();
    *null_byte = static_cast<uchar>((*null_byte & ~field->null_bit) |
                                    (from[field->null_offset()] & field->null_bit));
  }
}

int ha_rowan_part::index_read_map(uchar* record, const uchar* key, key_part_map keypart_map,
                                  ha_rkey_function find_flag) {
  if (key == nullptr) return ph_index_first(record);
  return ph_index_read_map(record, key, keypart_map, find_flag);
}

int ha_rowan_part::index_read_last_map(uchar* record, const uchar* key, key_part_map keypart_map) {
  return ph_index_read_last_map(record, key, keypart_map);
}

int ha_rowan_part::index_first_in_part(uint part, uchar* record) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_first(record), record);
}

int ha_rowan_part::index_last_in_part(uint part, uchar* record) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_last(record), record);
}

int ha_rowan_part::index_prev_in_part(uint part, uchar* record) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_prev(record), record);
}

int ha_rowan_part::index_next_in_part(uint part, uchar* record) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_next(record), record);
}

int ha_rowan_part::index_next_same_in_part(uint part, uchar* record, const uchar* key,
                                           uint length) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_next_same(record, key, length), record);
}

int ha_rowan_part::index_read_map_in_part(uint part, uchar* record, const uchar* key,
                                          key_part_map keypart_map, ha_rkey_function find_flag) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_read_map(record, key, keypart_map, find_flag), record);
}

int ha_rowan_part::index_read_last_map_in_part(uint part, uchar* record, const uchar* key,
                                               key_part_map keypart_map) {
  SelectForScan(part);
  return KeepComputed(ha_rowan::index_read_last_map(record, key, keypart_map), record);
}

int ha_rowan_part::index_read_idx_map_in_part(uint part, uchar* record, uint index,
                                              const uchar* key, key_part_map keypart_map,
                                              ha_rkey_function find_flag) {
  Select(part);
  int error = ha_rowan::index_init(index, false);
  if (error == 0) error = ha_rowan::index_read_map(record, key, keypart_map, find_flag);
  ha_rowan::index_end();
  return error;
}

int ha_rowan_part::read_range_first_in_part(uint part, uchar* record, const key_range* start_key,
                                            const key_range* end_key, bool) {
  SelectForScan(part);
  uchar* const target = record != nullptr ? record : table->record[0];
  return KeepComputed(OpenRange(target, start_key, end_key), target);
}

int ha_rowan_part::read_range_next_in_part(uint part, uchar* record) {
  SelectForScan(part);
  uchar* const target = record != nullptr ? record : table->record[0];
  const int error = eq_range ? ha_rowan::index_next_same(target, end_range->key, end_range->length)
                             : ha_rowan::index_next(target);
  return KeepComputed(error, target);
}

Item* ha_rowan_part::idx_cond_push(uint key_number, Item* condition) {
  ForTouched([this] { part_->scan.prepared = false; });
  return ha_rowan::idx_cond_push(key_number, condition);
}

void ha_rowan_part::cancel_pushed_idx_cond() {
  ha_rowan::cancel_pushed_idx_cond();
  ForTouched([this] { part_->scan.prepared = false; });
}

// --- table scans and row references ---

int ha_rowan_part::rnd_init(bool scan) { return ph_rnd_init(scan); }

int ha_rowan_part::rnd_end() {
  EndMultiRange();
  return ph_rnd_end();
}

int ha_rowan_part::rnd_init_in_part(uint part, bool table_scan) {
  if (!table_scan) return 0;  // references name the partition to read next
  Select(part);
  scan_begins_ = true;
  return ha_rowan::rnd_init(table_scan);
}

int ha_rowan_part::rnd_next_in_part(uint part, uchar* record) {
  Select(part);
  if (!scan_begins_) return ha_rowan::rnd_next(record);
  // Counts as the first row of an index, like in InnoDB's partitions.
  scan_begins_ = false;
  if (block_rows_ != nullptr) return ReadOfBlock(record);
  return Found(reader()->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan_part::rnd_end_in_part(uint part, bool table_scan) {
  if (!table_scan) return 0;
  MoveTo(part);
  if (reader() != nullptr) reader()->CloseScan();
  return 0;
}

// --- blocks of the plan (block_rows.h), in one partition after the other ---

bool ha_rowan_part::StartBlock() {
  const uint first = m_part_info->get_first_used_partition();
  if (first >= parts_.size()) return false;
  Select(first);
  const TableLayout& layout = codec().layout();
  for (uint part = first; part < parts_.size(); part = m_part_info->get_next_used_partition(part)) {
    if (!StoreAlike(layout, parts_[part].codec().layout())) return false;
  }
  return true;
}

int ha_rowan_part::multi_range_read_init(RANGE_SEQ_IF* sequence, void* sequence_start, uint ranges,
                                         uint mode, HANDLER_BUFFER* buffer) {
  if (block_rows_ == nullptr) {
    return ha_rowan::multi_range_read_init(sequence, sequence_start, ranges, mode, buffer);
  }
  range_part_ = m_part_info->get_first_used_partition();
  range_begins_ = true;
  return 0;
}

int ha_rowan_part::multi_range_read_next(char** range_info) {
  if (block_rows_ == nullptr) return ha_rowan::multi_range_read_next(range_info);
  while (range_part_ < parts_.size()) {
    SelectForScan(range_part_);
    if (std::exchange(range_begins_, false)) block_rows_->Restart(nullptr);
    const int error = ReadOfBlock(table->record[0]);
    if (error == 0) m_last_part = range_part_;
    if (error != HA_ERR_END_OF_FILE) return error;
    range_part_ = m_part_info->get_next_used_partition(range_part_);
    range_begins_ = true;
  }
  return HA_ERR_END_OF_FILE;
}

int ha_rowan_part::sample_init(void*& scan, double percentage, int seed,
                               enum_sampling_method method, bool) {
  if (method != enum_sampling_method::SYSTEM) return HA_ERR_UNSUPPORTED;
  auto sample = std::make_unique<RowSample>(percentage, seed);
  const int error = SampleFrom(m_part_info->get_first_used_partition(), sample.get());
  if (error == 0) scan = sample.release();
  return error;
}

int ha_rowan_part::SampleFrom(uint part, RowSample* sample) {
  if (part >= parts_.size()) return HA_ERR_END_OF_FILE;
  Select(part);
  const int error = ha_rowan::rnd_init(false);
  if (error == 0) sample->Enter(reader(), engine_table());
  return error;
}

int ha_rowan_part::sample_next(void* scan, uchar* record) {
  for (;;) {
    int error = ha_rowan::sample_next(scan, record);
    if (error != HA_ERR_END_OF_FILE) return error;
    reader()->CloseScan();
    const uint next = m_part_info->get_next_used_partition(selected_);
    error = SampleFrom(next, static_cast<RowSample*>(scan));
    if (error != 0) return error;
  }
}

int ha_rowan_part::rnd_pos(uchar* record, uchar* position) {
  m_last_part = uint2korr(position);
  Select(m_last_part);
  return ReadReferenced(record, position + PARTITION_BYTES_IN_POS);
}

int ha_rowan_part::rnd_pos_by_record(uchar* record) {
  uint32 part = 0;
  if (get_part_for_delete(record, table->record[0], m_part_info, &part) != 0) {
    return HA_ERR_NO_PARTITION_FOUND;
  }
  m_last_part = part;
  return handler::rnd_pos_by_record(record);
}

void ha_rowan_part::position_in_last_part(uchar* reference, const uchar* record) {
  MoveTo(m_last_part);
  PutReference(*part_, record, reference);
}

int ha_rowan_part::cmp_ref(const uchar* left, const uchar* right) const {
  const int rows =
      CompareReferences(*part_, left + PARTITION_BYTES_IN_POS, right + PARTITION_BYTES_IN_POS);
  if (rows != 0) return rows;
  return static_cast<int>(uint2korr(left)) - static_cast<int>(uint2korr(right));
}

// --- writes ---

int ha_rowan_part::write_row_in_part(uint part, uchar* record) {
  Select(part);
  if (loading_ && !uses_[part].load_tried) {
    uses_[part].load_tried = true;
    const int error = BeginLoad(kLoadMemoryBytes / parts_.size());
    if (error != 0) return error;
  }
  // The value is already generated, because the choice of the partition may depend on it.
  Field* const generated = table->next_number_field;
  table->next_number_field = nullptr;
  const int error = ha_rowan::write_row(record);
  table->next_number_field = generated;
  write_failed_ = error != 0;
  return error;
}

int ha_rowan_part::update_row_in_part(uint part, const uchar* old_record, uchar* new_record) {
  Select(part);
  write_failed_ = false;
  return ha_rowan::update_row(old_record, new_record);
}

int ha_rowan_part::delete_row_in_part(uint part, const uchar* record) {
  Select(part);
  return ha_rowan::delete_row(record);
}

int ha_rowan_part::end_bulk_insert() {
  int error = 0;
  ForTouched([this, &error] {
    const int part_error = ha_rowan::end_bulk_insert();
    if (error == 0) error = part_error;
  });
  return error;
}

// --- AUTO_INCREMENT: one counter in memory; each partition's is above its values ---

void ha_rowan_part::get_auto_increment(ulonglong, ulonglong increment, ulonglong count,
                                       ulonglong* first_value, ulonglong* reserved) {
  if (partitions_->uncounted() != nullptr) {
    OpenAnewIfFound(ha_thd(), *partitions_->uncounted(), *table_share);
    *first_value = ULLONG_MAX;  // fails the statement; print_error reports why
    return;
  }
  get_auto_increment_first_field(increment, count, first_value, reserved);
}

int ha_rowan_part::initialize_auto_increment(bool) {
  stats.auto_increment_value = partitions_->next_auto_inc_val;
  return 0;  // done when the share was opened
}

void ha_rowan_part::save_auto_increment(ulonglong value) {
  Table* const keeper = partitions_->table(m_last_part);
  if (!write_failed_) RaiseAutoIncrement(*table->found_next_number_field, value, keeper);
}

void ha_rowan_part::update_create_info(HA_CREATE_INFO* create_info) {
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) != 0) return;
  create_info->auto_increment_value = 0;
  if (table->found_next_number_field == nullptr) return;
  info(HA_STATUS_AUTO);
  create_info->auto_increment_value = stats.auto_increment_value;
}

}  // namespace rowan
