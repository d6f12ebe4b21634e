// SPDX-License-Identifier: GPL-2.0-only
// Index and table scans. A search with the first k key parts is a search for a byte prefix: its
// entries are exactly [prefix, successor of prefix), in either direction.
#include "plugin/abi_guard.h"

#include "plugin/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/item.h"
#include "sql/key.h"
#include "sql/sql_class.h"
#include "sql/system_variables.h"

#include "btree/tree.h"
#include "plugin/error_map.h"
#include "plugin/instance.h"

namespace rowan {

// --- common ---

void ha_rowan::PrepareRead() {
  // A row that may be changed is needed whole: its index entries and new version are made from it.
  bool from_entry = keyread_ && !writes_ && reader_->ordinal() != 0;
  const MY_BITMAP* columns = table->read_set;
  if (keyread_ && active_index < table->s->keys) columns = ColumnsOfKeyRead(&from_entry);
  reader_->SetColumns(writes_ ? nullptr : columns, writes_);
  reader_->set_entry_only(from_entry);
  const bool filtered = pushed_idx_cond != nullptr && pushed_idx_cond_keyno == active_index;
  reader_->SetFilter(filtered ? this : nullptr);
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
  return columns;
}

int ha_rowan::Found(Status status, int error_at_end) {
  if (status.ok()) return 0;
  if (status.Is(Code::kEndOfRange) || status.Is(Code::kNotFound)) return error_at_end;
  return Fail(status);
}

EntryFilter::Verdict ha_rowan::Judge() {
  if (end_range != nullptr && compare_key_icp(end_range) > 0) return Verdict::kOutOfRange;
  return pushed_idx_cond->val_int() != 0 ? Verdict::kMatch : Verdict::kNoMatch;
}

Item* ha_rowan::idx_cond_push(uint key_number, Item* condition) {
  pushed_idx_cond = condition;
  pushed_idx_cond_keyno = key_number;
  in_range_check_pushed_down = true;
  return nullptr;  // all of it is evaluated here
}

bool ha_rowan::EncodeSearch(const uchar* key, key_part_map keypart_map) {
  // "The whole key" means the declared parts: the image has no more.
  if (keypart_map == HA_WHOLE_KEY) {
    keypart_map = make_prev_keypart_map(table->key_info[active_index].user_defined_key_parts);
  }
  return codec().EncodeSearchKey(active_index, key, keypart_map, &search_key_, &search_complete_)
      .ok();
}

// --- index scans ---

int ha_rowan::index_init(uint index, bool) {
  active_index = index;
  reader_->OpenScan(codec().OrdinalOfKey(index), false);
  bounded_by_key_ = false;
  return 0;
}

int ha_rowan::index_end() {
  active_index = MAX_KEY;
  reader_->CloseScan();
  return 0;
}

int ha_rowan::index_read_map(uchar* record, const uchar* key, key_part_map keypart_map,
                             ha_rkey_function find_flag) {
  ha_statistic_increment(&System_status_var::ha_read_key_count);
  if (key == nullptr) return index_first(record);
  if (!EncodeSearch(key, keypart_map)) return HA_ERR_KEY_NOT_FOUND;
  PrepareRead();
  bounded_by_key_ = false;
  Status status;
  switch (find_flag) {
    case HA_READ_KEY_EXACT:
    case HA_READ_PREFIX: return ReadPrefix(record, false, true);
    case HA_READ_PREFIX_LAST: return ReadPrefix(record, true, true);
    case HA_READ_PREFIX_LAST_OR_PREV:
    case HA_READ_KEY_OR_PREV: return ReadPrefix(record, true, false);
    case HA_READ_KEY_OR_NEXT:
      reader_->SetEnd({});
      status = reader_->SeekAtLeast(search_key_, record);
      break;
    case HA_READ_AFTER_KEY:
      reader_->SetEnd({});
      PrefixSuccessor(search_key_, &bound_key_);
      status = bound_key_.empty() ? Status(Code::kEndOfRange)
                                  : reader_->SeekAtLeast(bound_key_, record);
      break;
    case HA_READ_BEFORE_KEY: status = reader_->SeekBefore(search_key_, record); break;
    default: return HA_ERR_UNSUPPORTED;
  }
  return Found(status, HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::ReadPrefix(uchar* record, bool last, bool exact) {
  if (!last && search_complete_ && reader_->ordinal() == 0) {
    bounded_by_key_ = true;
    return Found(reader_->GetRow(search_key_, record), HA_ERR_KEY_NOT_FOUND);
  }
  PrefixSuccessor(search_key_, &bound_key_);
  if (!last) {
    bounded_by_key_ = true;
    reader_->SetEnd(bound_key_);
    return Found(reader_->SeekAtLeast(search_key_, record), HA_ERR_KEY_NOT_FOUND);
  }
  const Status status = bound_key_.empty() ? reader_->SeekLast(record)
                                           : reader_->SeekBefore(bound_key_, record);
  if (status.ok() && exact) {
    const Bytes found = reader_->current_entry_key();
    const bool matches = found.size() >= search_key_.size() &&
                         EqualBytes(found.first(search_key_.size()), search_key_);
    if (!matches) return HA_ERR_KEY_NOT_FOUND;
  }
  return Found(status, HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::index_read_last_map(uchar* record, const uchar* key, key_part_map keypart_map) {
  return index_read_map(record, key, keypart_map, HA_READ_PREFIX_LAST);
}

int ha_rowan::index_next(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  if (bounded_by_key_) {
    // After an exact read, "next" goes on behind that key's entries.
    bounded_by_key_ = false;
    reader_->SetEnd({});
    reader_->Suspend();
    reader_->SetSession(session_, read_options_);
  }
  PrepareRead();
  return Found(reader_->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_prev(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_prev_count);
  PrepareRead();
  return Found(reader_->Prev(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_first(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_first_count);
  PrepareRead();
  bounded_by_key_ = false;
  reader_->SetEnd({});
  return Found(reader_->SeekFirst(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_last(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_last_count);
  PrepareRead();
  bounded_by_key_ = false;
  return Found(reader_->SeekLast(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_next_same(uchar* record, const uchar*, uint) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  // The whole clustered key was given: there is no second row.
  if (search_complete_ && reader_->ordinal() == 0) return HA_ERR_END_OF_FILE;
  return Found(reader_->Next(record), HA_ERR_END_OF_FILE);
}

// --- ranges ---

void ha_rowan::SetEndOf(const key_range* end_key) {
  if (end_key == nullptr) {
    reader_->SetEnd({});
    return;
  }
  EncodeSearch(end_key->key, end_key->keypart_map);
  if (end_key->flag == HA_READ_BEFORE_KEY) {
    reader_->SetEnd(search_key_);
    return;
  }
  PrefixSuccessor(search_key_, &bound_key_);
  reader_->SetEnd(bound_key_);
}

int ha_rowan::read_range_first(const key_range* start_key, const key_range* end_key,
                               bool eq_range_arg, bool) {
  eq_range = eq_range_arg;
  set_end_range(end_key, RANGE_SCAN_ASC);
  range_key_part = table->key_info[active_index].key_part;
  if (eq_range && start_key != nullptr) {
    const int error = index_read_map(table->record[0], start_key->key, start_key->keypart_map,
                                     start_key->flag);
    return error == HA_ERR_KEY_NOT_FOUND ? HA_ERR_END_OF_FILE : error;
  }
  PrepareRead();
  bounded_by_key_ = false;
  search_complete_ = false;
  SetEndOf(end_key);
  Status status;
  if (start_key == nullptr) {
    ha_statistic_increment(&System_status_var::ha_read_first_count);
    status = reader_->SeekFirst(table->record[0]);
  } else {
    ha_statistic_increment(&System_status_var::ha_read_key_count);
    EncodeSearch(start_key->key, start_key->keypart_map);
    search_complete_ = false;
    if (start_key->flag == HA_READ_AFTER_KEY) {
      PrefixSuccessor(search_key_, &bound_key_);
      if (bound_key_.empty()) return HA_ERR_END_OF_FILE;
      status = reader_->SeekAtLeast(bound_key_, table->record[0]);
    } else {
      status = reader_->SeekAtLeast(search_key_, table->record[0]);
    }
  }
  return Found(status, HA_ERR_END_OF_FILE);
}

int ha_rowan::read_range_next() {
  if (eq_range) return index_next_same(table->record[0], nullptr, 0);
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  return Found(reader_->Next(table->record[0]), HA_ERR_END_OF_FILE);
}

// --- table scans and row references ---

int ha_rowan::rnd_init(bool) {
  reader_->OpenScan(0, false);
  search_complete_ = false;
  bounded_by_key_ = false;
  PrepareRead();
  return 0;
}

int ha_rowan::rnd_end() {
  reader_->CloseScan();
  return 0;
}

int ha_rowan::rnd_next(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_rnd_next_count);
  return Found(reader_->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::rnd_pos(uchar* record, uchar* position) {
  ha_statistic_increment(&System_status_var::ha_read_rnd_count);
  PrepareRead();
  reader_->SetFilter(nullptr);
  if (codec().has_primary_key()) {
    bool complete = false;
    const Status status = codec().EncodeSearchKey(codec().KeyOfOrdinal(0), position, HA_WHOLE_KEY,
                                                  &position_key_, &complete);
    if (!status.ok()) return Fail(status);
  } else {
    const auto* bytes = reinterpret_cast<const std::byte*>(position);
    position_key_.assign(bytes, bytes + ref_length);
  }
  return Found(reader_->GetRow(position_key_, record), HA_ERR_KEY_NOT_FOUND);
}

void ha_rowan::position(const uchar* record) {
  if (codec().has_primary_key()) {
    key_copy(ref, record, &table->key_info[codec().KeyOfOrdinal(0)], ref_length);
  } else {
    memcpy(ref, reader_->row_key().data(), ref_length);
  }
}

int ha_rowan::cmp_ref(const uchar* left, const uchar* right) const {
  if (!codec().has_primary_key()) return memcmp(left, right, ref_length);
  ByteBuffer left_key;
  ByteBuffer right_key;
  bool complete = false;
  const uint32_t key = codec().KeyOfOrdinal(0);
  codec().EncodeSearchKey(key, left, HA_WHOLE_KEY, &left_key, &complete).Ignore();
  codec().EncodeSearchKey(key, right, HA_WHOLE_KEY, &right_key, &complete).Ignore();
  return CompareBytes(left_key, right_key);
}

// --- counts and estimates ---

int ha_rowan::CountRows(uint32_t ordinal, ha_rows* count) {
  *count = HA_POS_ERROR;
  if (read_options_.mode != ReadMode::kSnapshot &&
      read_options_.mode != ReadMode::kReadUncommitted) {
    // Counting under locks has to lock every row.
    return ordinal == 0 ? handler::records(count)
                        : handler::records_from_index(count, codec().KeyOfOrdinal(ordinal));
  }
  const Status opened = session_->OpenSnapshotFor(*engine_table());
  if (!opened.ok()) return Fail(opened);
  const EntryKeys keys{&codec(), ordinal};
  ReadOptions options = read_options_;
  if (ordinal != 0) options.row_key = keys.Finder();
  VersionCursor cursor(g_engine->txns());
  cursor.Open(session_->txn(), engine_table()->index(ordinal), options);
  Result<uint64_t> counted = cursor.CountAll(&session_->txn()->interrupted);
  if (!counted.ok()) return Fail(counted.status());
  if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  *count = *counted;
  return 0;
}

int ha_rowan::records(ha_rows* count) { return CountRows(0, count); }

int ha_rowan::records_from_index(ha_rows* count, uint index) {
  return CountRows(codec().OrdinalOfKey(index), count);
}

ha_rows ha_rowan::records_in_range(uint index, key_range* low, key_range* high) {
  const uint32_t ordinal = codec().OrdinalOfKey(index);
  bool complete = false;
  ByteBuffer from;
  ByteBuffer to;
  ByteBuffer key;
  if (low != nullptr) {
    codec().EncodeSearchKey(index, low->key, low->keypart_map, &key, &complete).Ignore();
    from = key;
    if (low->flag == HA_READ_AFTER_KEY) PrefixSuccessor(key, &from);
  }
  if (high != nullptr) {
    codec().EncodeSearchKey(index, high->key, high->keypart_map, &key, &complete).Ignore();
    to = key;
    if (high->flag == HA_READ_AFTER_KEY) PrefixSuccessor(key, &to);
  }
  if (!from.empty() && !to.empty() && CompareBytes(from, to) >= 0) return 1;
  Result<uint64_t> rows = engine_table()->index(ordinal)->tree.EstimateRange(from, to);
  if (!rows.ok()) return HA_POS_ERROR;
  // 0 would promise the optimizer that there is none.
  return std::max<ha_rows>(*rows, 1);
}

}  // namespace rowan
