// SPDX-License-Identifier: GPL-2.0-only
// Index and table scans. A search with the first k key parts is a search for a byte prefix: its
// entries are exactly [prefix, successor of prefix), in either direction.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/item.h"
#include "sql/key.h"
#include "sql/sql_class.h"
#include "sql/system_variables.h"

#include "base/key_prefix.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {

// --- common ---

void ha_rowan::PrepareRead() {
  // A row that may be changed is needed whole: its index entries and new version are made from it.
  bool from_entry = !writes_ && reader()->index() != 0 && (keyread_ || IndexCoversRead());
  const MY_BITMAP* columns = table->read_set;
  if ((keyread_ || from_entry) && active_index < table->s->keys) {
    columns = ColumnsOfKeyRead(&from_entry);
  }
  // The server expects values from the index, or the row will be compared with its entry.
  const bool compared = read_options_.mode == ReadMode::kReadUncommitted && reader()->index() != 0;
  // A replica applies DELETE events without asking for indexed virtual columns.
  const bool entries_go =
      writes_ && part_->computed_columns() != nullptr && !part_->computed_columns()->AreRead();
  // A plan asks its condition of rows that the server does not get to see.
  const bool judged = row_plan_ != nullptr && row_plan_->has_condition();
  ComputeColumns(keyread_ || compared || merges_ || entries_go || judged);
  reader()->SetColumns(writes_ ? nullptr : columns, KeysFor(writes_));
  reader()->set_entry_only(from_entry);
  reader()->SetFilter(HasCondition() ? this : nullptr);
  part_->scan.prepared = true;
}

bool ha_rowan::IndexCoversRead() const {
  // Not every plan that is called covering says so: the hypergraph optimizer's lookups do not.
  if (active_index >= table->s->keys || !table->s->keys_for_keyread.is_set(active_index)) {
    return false;
  }
  for (uint number = bitmap_get_first_set(table->read_set); number != MY_BIT_NONE;
       number = bitmap_get_next_set(table->read_set, number)) {
    const Field& field = *table->field[number];
    // The server computes virtual columns of rows that it did not ask for as index-only.
    if (field.is_virtual_gcol() || !field.part_of_key.is_set(active_index)) return false;
  }
  return true;
}

const MY_BITMAP* ha_rowan::ColumnsOfKeyRead(bool* from_entry) {
  // Skip scans take the next group's prefix from the record: the declared parts must be in it even
  // if the statement names none of them, and a part of a column has to come from the row.
  const KEY& key = table->key_info[active_index];
  const MY_BITMAP* columns = table->read_set;
  for (uint part = 0; part < key.user_defined_key_parts; ++part) {
    const uint field = key.key_part[part].field->field_index();
    if ((key.key_part[part].key_part_flag & HA_PART_KEY_SEG) != 0) *from_entry = false;
    if (bitmap_is_set(table->read_set, field)) continue;
    if (columns == table->read_set) {
      keyread_bits_.resize(bitmap_buffer_size(table->s->fields) / sizeof(my_bitmap_map));
      bitmap_init(&keyread_columns_, keyread_bits_.data(), table->s->fields);
      bitmap_copy(&keyread_columns_, table->read_set);
      columns = &keyread_columns_;
    }
    bitmap_set_bit(&keyread_columns_, field);
  }
  if (!EntryHasRowReference()) *from_entry = false;
  return columns;
}

bool ha_rowan::EntryHasRowReference() const {
  // position() copies the primary key's parts from the columns in the record, where an entry
  // leaves a column of which it has only a prefix as it was.
  if (!codec().has_primary_key()) return true;
  const KEY& primary = table->key_info[codec().KeyOfIndexNumber(0)];
  for (uint part = 0; part < primary.user_defined_key_parts; ++part) {
    const KEY_PART_INFO& info = primary.key_part[part];
    const bool is_prefix = (info.key_part_flag & HA_PART_KEY_SEG) != 0;
    if (is_prefix && bitmap_is_set(table->read_set, info.field->field_index())) return false;
  }
  return true;
}

int ha_rowan::Found(Status status, int error_at_end) {
  if (status.ok()) return 0;
  if (status.Is(Code::kEndOfRange) || status.Is(Code::kNotFound)) {
    if (reader()->salvages()) ReportSalvage();  // before the server counts the warnings
    return error_at_end;
  }
  return Fail(status);
}

bool ha_rowan::Matches() {
  // Only the condition. The end of the range is left to the reader: the server's own comparison
  // reads columns from the record, and an entry cannot fill one of which it has only a prefix.
  return pushed_idx_cond->val_int() != 0;
}

Item* ha_rowan::idx_cond_push(uint key_number, Item* condition) {
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = key_number;
  in_range_check_pushed_down = true;
  part_->scan.prepared = false;
  return nullptr;  // all of it is evaluated here
}

void ha_rowan::cancel_pushed_idx_cond() {
  handler::cancel_pushed_idx_cond();
  part_->scan.prepared = false;
}

key_part_map ha_rowan::PartsInImage(uint index, key_part_map keypart_map) const {
  // "The whole key" means the declared parts: the image has no more.
  if (keypart_map != HA_WHOLE_KEY) return keypart_map;
  return make_prev_keypart_map(table->key_info[index].user_defined_key_parts);
}

void ha_rowan::EncodeSearch(const uchar* key, key_part_map keypart_map) {
  codec().EncodeSearchKey(active_index, key, PartsInImage(active_index, keypart_map), &search_key_,
                          &part_->scan.search_complete);
}

void ha_rowan::EncodeBound(uint index, const key_range& range, bool behind,
                           ByteBuffer* bound) const {
  bool complete = false;
  codec().EncodeSearchKey(index, range.key, PartsInImage(index, range.keypart_map), bound,
                          &complete);
  if (behind) PrefixSuccessor(*bound, bound);
}

bool ha_rowan::HasCondition() const {
  return pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index;
}

// --- index scans ---

int ha_rowan::index_init(uint index, bool) {
  if (!part_->share()->readable()) return RefuseUnreadable(*part_->share(), *table_share);
  active_index = index;
  if (ReadsGroups(index)) return InitGroupScan();
  if (table_share->foreign_keys != 0) RepairCascadeCount();
  part_->scan.prepared = false;
  spatial_scan_.reset();
  const uint32_t index_number = codec().IndexNumberOfKey(index);
  reader()->OpenScan(index_number);
  if (codec().SpatialReferenceOf(index_number) != nullptr) FindNothing();
  part_->scan.bounded_by_key = false;
  return 0;
}

int ha_rowan::index_end() {
  active_index = MAX_KEY;
  KeepGroupScan();
  reader()->CloseScan();
  EndMultiRange();
  return 0;
}

int ha_rowan::index_read_map(uchar* record, const uchar* key, key_part_map keypart_map,
                             ha_rkey_function find_flag) {
  ha_statistic_increment(&System_status_var::ha_read_key_count);
  if (key == nullptr) return ha_rowan::index_first(record);
  if (group_scan_ != nullptr) return ReadGroupsOf(record, {key, keypart_map, find_flag});
  if (SkipsRows()) return ReadBehindSkipped(record, HA_ERR_KEY_NOT_FOUND);
  PrepareRead();
  part_->scan.bounded_by_key = false;
  reader()->SetStart({});
  if (find_flag >= HA_READ_MBR_CONTAIN) return ReadSpatial(record, key, find_flag);
  EncodeSearch(key, keypart_map);
  if (search_key_.empty()) return HA_ERR_KEY_NOT_FOUND;  // a FULLTEXT index has no such keys
  Status status;
  switch (find_flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX: return ReadPrefix(record, false, true);
    case HA_READ_PREFIX_LAST: return ReadPrefix(record, true, true);
    case HA_READ_PREFIX_LAST_OR_PREV:
    case HA_READ_KEY_OR_PREV: return ReadPrefix(record, true, false);
    case HA_READ_KEY_OR_NEXT:
      SetEndOf(range_end_);
      status = reader()->SeekAtLeast(search_key_, record);
      break;
    case HA_READ_AFTER_KEY:
      SetEndOf(range_end_);
      PrefixSuccessor(search_key_, &bound_key_);
      status = bound_key_.empty() ? Status(Code::kEndOfRange)
                                  : reader()->SeekAtLeast(bound_key_, record);
      break;
    case HA_READ_BEFORE_KEY:
      SetStartOf(end_range);
      status = reader()->SeekBefore(search_key_, record);
      break;
    default: return HA_ERR_UNSUPPORTED;
  }
  return Found(status, HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::ReadPrefix(uchar* record, bool last, bool exact) {
  if (!last && part_->scan.search_complete && reader()->index() == 0) {
    part_->scan.bounded_by_key = true;
    return Found(reader()->GetRow(search_key_, record), HA_ERR_KEY_NOT_FOUND);
  }
  PrefixSuccessor(search_key_, &bound_key_);
  if (!last) {
    part_->scan.bounded_by_key = true;
    reader()->SetEnd(bound_key_);
    return Found(reader()->SeekAtLeast(search_key_, record), HA_ERR_KEY_NOT_FOUND);
  }
  if (exact) {
    reader()->SetStart(search_key_);
  } else {
    SetStartOf(end_range);
  }
  const Status status =
      bound_key_.empty() ? reader()->SeekLast(record) : reader()->SeekBefore(bound_key_, record);
  // Steps back from here may leave the key, but not in search of what passes the condition.
  if (exact && !HasCondition()) reader()->SetStart({});
  return Found(status, HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::index_read_last_map(uchar* record, const uchar* key, key_part_map keypart_map) {
  return ha_rowan::index_read_map(record, key, keypart_map, HA_READ_PREFIX_LAST);
}

int ha_rowan::index_next(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  if (group_scan_ != nullptr) return ReadNextOfGroups(record);
  if (!part_->scan.prepared) PrepareRead();
  if (part_->scan.bounded_by_key) {
    // After an exact read, "next" continues after that key's entries.
    part_->scan.bounded_by_key = false;
    reader()->SetEnd({});
    reader()->Suspend();
    reader()->SetSession(session_, read_options_);
  }
  return Found(reader()->Next(record), HA_ERR_END_OF_FILE);
}

void ha_rowan::CountEnd(ulonglong System_status_var::*end) const {
  ha_statistic_increment(end);
  ha_statistic_increment(&System_status_var::ha_read_key_count);
}

int ha_rowan::index_prev(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_prev_count);
  if (group_scan_ != nullptr) return ReadNextOfGroups(record);
  if (!part_->scan.prepared) PrepareRead();
  return Found(reader()->Prev(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_first(uchar* record) {
  CountEnd(&System_status_var::ha_read_first_count);
  if (group_scan_ != nullptr) return ReadFirstGroup(record, GroupScan::Direction::kForward);
  if (SkipsRows()) return ReadBehindSkipped(record, HA_ERR_END_OF_FILE);
  if (codec().TextIndexAt(reader()->index()) != nullptr) return HA_ERR_END_OF_FILE;
  PrepareRead();
  part_->scan.bounded_by_key = false;
  reader()->SetStart({});
  SetEndOf(range_end_);
  return Found(reader()->SeekFirst(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_last(uchar* record) {
  CountEnd(&System_status_var::ha_read_last_count);
  if (group_scan_ != nullptr) return ReadFirstGroup(record, GroupScan::Direction::kBackward);
  if (SkipsRows()) return ReadBehindSkipped(record, HA_ERR_END_OF_FILE);
  if (codec().TextIndexAt(reader()->index()) != nullptr) return HA_ERR_END_OF_FILE;
  PrepareRead();
  part_->scan.bounded_by_key = false;
  SetStartOf(end_range);
  return Found(reader()->SeekLast(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_next_same(uchar* record, const uchar*, uint) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  if (group_scan_ != nullptr) return ReadNextOfGroups(record);
  // The whole clustered key was given: there is no second row.
  if (part_->scan.search_complete && reader()->index() == 0) return HA_ERR_END_OF_FILE;
  int error = Found(reader()->Next(record), HA_ERR_END_OF_FILE);
  if (error == HA_ERR_END_OF_FILE && spatial_scan_ != nullptr) error = ReadNextSpatialRange(record);
  return RaiseInCascade(error);
}

// --- ranges ---

void ha_rowan::SetEndOf(const key_range* range) {
  if (range == nullptr) {
    reader()->SetEnd({});
    return;
  }
  EncodeBound(active_index, *range, range->flag != HA_READ_BEFORE_KEY, &range_key_);
  reader()->SetEnd(range_key_);
}

void ha_rowan::SetStartOf(const key_range* range) {
  // The server checks the rows it gets itself and tells the least key only along with a condition,
  // with which the next row may be far away.
  if (range == nullptr || !HasCondition()) {
    reader()->SetStart({});
    return;
  }
  EncodeBound(active_index, *range, range->flag == HA_READ_AFTER_KEY, &range_key_);
  reader()->SetStart(range_key_);
}

int ha_rowan::read_range_first(const key_range* start_key, const key_range* end_key,
                               bool eq_range_arg, bool) {
  eq_range = eq_range_arg;
  set_end_range(end_key, RANGE_SCAN_ASC);
  range_key_part = table->key_info[active_index].key_part;
  range_end_ = end_key;
  // Through the server's entry points, which count the rows for the performance schema.
  uchar* const record = table->record[0];
  const int error = start_key == nullptr
                        ? ha_index_first(record)
                        : ha_index_read_map(record, start_key->key, start_key->keypart_map,
                                            StartFlag(*start_key));
  range_end_ = nullptr;
  return error == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : error;
}

int ha_rowan::OpenRange(uchar* record, const key_range* start_key, const key_range* end_key) {
  range_end_ = end_key;
  const int error = start_key == nullptr
                        ? ha_rowan::index_first(record)
                        : ha_rowan::index_read_map(record, start_key->key, start_key->keypart_map,
                                                   StartFlag(*start_key));
  range_end_ = nullptr;
  return error == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : error;
}

ha_rkey_function ha_rowan::StartFlag(const key_range& start_key) const {
  // A skip scan asks for NULL by an exact start of a range that it does not call one of equal
  // keys: the range's end counts then, not the end of the key, after which "next" would continue.
  const bool from_start = !eq_range && start_key.flag == HA_READ_KEY_EXACT;
  return from_start ? HA_READ_KEY_OR_NEXT : start_key.flag;
}

int ha_rowan::read_range_next() {
  if (eq_range) return ha_index_next_same(table->record[0], end_range->key, end_range->length);
  return ha_index_next(table->record[0]);
}

// --- table scans and row references ---

int ha_rowan::rnd_init(bool scan) {
  if (!part_->share()->readable()) return RefuseUnreadable(*part_->share(), *table_share);
  if (scan) CountEnd(&System_status_var::ha_read_first_count);
  if (read_options_.mode == ReadMode::kSnapshot) {
    // Here already: CHECKSUM TABLE takes an error of the scan itself for the end of the rows.
    const Status status = session_->OpenSnapshotFor(*engine_table());
    if (!status.ok()) return Fail(status);
  }
  reader()->OpenScan(0);
  part_->scan.search_complete = false;
  part_->scan.bounded_by_key = false;
  skips_at_next_row_ = scan && SkipsRows();
  PrepareRead();
  return 0;
}

int ha_rowan::rnd_end() {
  reader()->CloseScan();
  EndMultiRange();
  return 0;
}

int ha_rowan::rnd_next(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_rnd_next_count);
  if (skips_at_next_row_) {
    skips_at_next_row_ = false;
    return ReadBehindSkipped(record, HA_ERR_END_OF_FILE);
  }
  return Found(reader()->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::rnd_pos(uchar* record, uchar* position) { return ReadReferenced(record, position); }

int ha_rowan::ReadReferenced(uchar* record, const uchar* reference) {
  ha_statistic_increment(&System_status_var::ha_read_rnd_count);
  ha_statistic_increment(&System_status_var::ha_read_key_count);
  PrepareRead();
  reader()->SetFilter(nullptr);
  if (codec().has_primary_key()) {
    bool complete = false;
    codec().EncodeSearchKey(codec().KeyOfIndexNumber(0), reference, HA_WHOLE_KEY, &position_key_,
                            &complete);
  } else {
    const auto* bytes = reinterpret_cast<const std::byte*>(reference);
    position_key_.assign(bytes, bytes + row_reference_bytes_);
  }
  return Found(reader()->GetRow(position_key_, record), HA_ERR_KEY_NOT_FOUND);
}

void ha_rowan::position(const uchar* record) { PutReference(record, ref); }

void ha_rowan::PutReference(const uchar* record, uchar* reference) const {
  if (codec().has_primary_key()) {
    key_copy(reference, record, &table->key_info[codec().KeyOfIndexNumber(0)],
             row_reference_bytes_);
  } else {
    memcpy(reference, reader()->row_key().data(), row_reference_bytes_);
  }
}

int ha_rowan::cmp_ref(const uchar* left, const uchar* right) const {
  return CompareReferences(left, right);
}

int ha_rowan::CompareReferences(const uchar* left, const uchar* right) const {
  if (!codec().has_primary_key()) return memcmp(left, right, row_reference_bytes_);
  ByteBuffer left_key;
  ByteBuffer right_key;
  bool complete = false;
  const uint32_t key = codec().KeyOfIndexNumber(0);
  codec().EncodeSearchKey(key, left, HA_WHOLE_KEY, &left_key, &complete);
  codec().EncodeSearchKey(key, right, HA_WHOLE_KEY, &right_key, &complete);
  return CompareBytes(left_key, right_key);
}

// --- counts and estimates ---

int ha_rowan::records(ha_rows* count) { return CountRows(0, count); }

int ha_rowan::records_from_index(ha_rows* count, uint index) {
  return CountRows(codec().IndexNumberOfKey(index), count);
}

ha_rows ha_rowan::records_in_range(uint index, key_range* low, key_range* high) {
  const Result<uint64_t> rows = EstimateRange(index, low, high);
  if (!rows.ok()) return HA_POS_ERROR;
  // 0 would promise the optimizer that there is none.
  return std::max<ha_rows>(rows.value(), 1);
}

Result<uint64_t> ha_rowan::EstimateRange(uint index, const key_range* low,
                                         const key_range* high) const {
  const uint32_t index_number = codec().IndexNumberOfKey(index);
  if (codec().SpatialReferenceOf(index_number) != nullptr) {
    return EstimateSpatial(index_number, low);
  }
  ByteBuffer from;
  ByteBuffer to;
  if (low != nullptr) EncodeBound(index, *low, low->flag == HA_READ_AFTER_KEY, &from);
  if (high != nullptr) EncodeBound(index, *high, high->flag == HA_READ_AFTER_KEY, &to);
  if (!from.empty() && !to.empty() && CompareBytes(from, to) >= 0) return uint64_t{0};
  return engine_table()->EstimateRange(index_number, from, to);
}

}  // namespace rowan
