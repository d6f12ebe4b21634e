// SPDX-License-Identifier: GPL-2.0-only
// Index and table scans (key_bounds.h).
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/item.h"
#include "sql/sql_class.h"
#include "sql/system_variables.h"

#include "base/key_prefix.h"
#include "base/out_of_memory.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/key_bounds.h"
#include "plugin/handler/spatial_search.h"
#include "plugin/handler/text_match.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {

// --- common ---

void ha_rowan::PrepareRead() {
  // A row that may be changed is needed whole: its index entries and new version are made from it.
  bool from_entry = !writes_ && reader()->index() != 0 &&
                    (key_read_.asked || IndexCoversRead(*table, active_index));
  const MY_BITMAP* columns = table->read_set;
  if ((key_read_.asked || from_entry) && active_index < table->s->keys) {
    columns = key_read_.ColumnsOf(*part_, active_index, &from_entry);
  }
  // The server expects values from the index, or the row will be compared with its entry.
  const bool compared = read_options_.mode == ReadMode::kReadUncommitted && reader()->index() != 0;
  // A replica applies DELETE events without asking for indexed virtual columns.
  const bool entries_go =
      writes_ && part_->computed_columns() != nullptr && !part_->computed_columns()->AreRead();
  // A plan evaluates its condition on rows that the server does not see.
  const bool judged = row_plan_ != nullptr && row_plan_->has_condition();
  part_->ComputeColumns(key_read_.asked || compared || key_read_.merges || entries_go || judged);
  part_->SetColumns(writes_ ? nullptr : columns, KeysFor(writes_));
  reader()->set_entry_only(from_entry);
  reader()->SetFilter(Filter());
  part_->scan.prepared = true;
  part_->scan.read_set = table->read_set;
}

int ha_rowan::Found(Status status, int error_at_end) {
  if (status.ok()) return 0;
  if (status.Is(Code::kEndOfRange) || status.Is(Code::kNotFound)) {
    if (reader()->salvages())
      part_->ReportSalvage(ha_thd());  // before the server counts the warnings
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

void ha_rowan::EncodeSearch(const uchar* key, key_part_map keypart_map) {
  codec().EncodeSearchKey(active_index, key, PartsInImage(*table, active_index, keypart_map),
                          &search_key_, &part_->scan.search_complete);
}

RowKeys ha_rowan::KeysFor(bool writes) const {
  const bool keeps = writes || searches_text_ || !codec().has_primary_key();
  return keeps ? RowKeys::kKeep : RowKeys::kForget;
}

GroupReader::Read ha_rowan::GroupRead(uchar* record) {
  return {part_, &key_read_, KeysFor(false), Filter(), session_, range_end_, record};
}

int ha_rowan::SearchGroups(uchar* record, const GroupReader::Key& key) {
  return Found(groups_.Search(GroupRead(record), key), HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::ReadFirstGroup(uchar* record, GroupScan::Direction direction) {
  return Found(groups_.First(GroupRead(record), direction), HA_ERR_END_OF_FILE);
}

int ha_rowan::ReadNextOfGroups(uchar* record) {
  return Found(groups_.Next(GroupRead(record)), HA_ERR_END_OF_FILE);
}

// --- index scans ---

int ha_rowan::index_init(uint index, bool) {
  if (!part_->share()->readable()) return RefuseUnreadable(*part_->share(), *table_share);
  active_index = index;
  part_->scan.prepared = false;
  part_->scan.bounded_by_key = false;
  part_->scan.spatial.reset();
  if (groups_.Reads(index)) {
    groups_.Open(part_);
    return 0;
  }
  if (table_share->foreign_keys != 0) RepairCascadeCount(ha_thd());
  const uint32_t index_number = codec().IndexNumberOfKey(index);
  reader()->OpenScan(index_number);
  if (codec().SpatialReferenceOf(index_number) != nullptr) FindNothing(reader());
  return 0;
}

int ha_rowan::index_end() {
  active_index = MAX_KEY;
  groups_.Close();
  reader()->CloseScan();
  EndMultiRange();
  return 0;
}

int ha_rowan::index_read_map(uchar* record, const uchar* key, key_part_map keypart_map,
                             ha_rkey_function find_flag) {
  ha_statistic_increment(&System_status_var::ha_read_key_count);
  if (key == nullptr) return ha_rowan::index_first(record);
  if (groups_.is_open()) return SearchGroups(record, {key, keypart_map, find_flag});
  if (block_rows_ != nullptr) return LookUpOfBlock(record, key, keypart_map);
  if (SkipsRows()) return ReadAfterSkipped(record, HA_ERR_KEY_NOT_FOUND);
  if (!part_->scan.prepared || part_->scan.read_set != table->read_set) PrepareRead();
  part_->scan.bounded_by_key = false;
  reader()->SetStart({});
  if (find_flag >= HA_READ_MBR_CONTAIN) {
    const bool locks = read_options_.mode == ReadMode::kLockShared ||
                       read_options_.mode == ReadMode::kLockExclusive;
    const BoxSearch search{key, find_flag, locks ? SpatialLocks::kRanges : SpatialLocks::kNone};
    return Found(SearchBoxes(search, part_, record), HA_ERR_KEY_NOT_FOUND);
  }
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
  // Steps back from here may leave the key, but not in search of a row that passes the condition.
  if (exact && Filter() == nullptr) reader()->SetStart({});
  return Found(status, HA_ERR_KEY_NOT_FOUND);
}

int ha_rowan::index_read_last_map(uchar* record, const uchar* key, key_part_map keypart_map) {
  return ha_rowan::index_read_map(record, key, keypart_map, HA_READ_PREFIX_LAST);
}

void ha_rowan::GoOnUntil(Bytes end) {
  reader()->SetEnd(end);
  reader()->Suspend();
  reader()->SetSession(session_, read_options_);
}

int ha_rowan::index_next(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  if (block_rows_ != nullptr) return ReadOfBlock(record);
  if (groups_.is_open()) return ReadNextOfGroups(record);
  if (!part_->scan.prepared) PrepareRead();
  if (part_->scan.bounded_by_key) {
    // After an exact read, "next" continues after that key's entries.
    part_->scan.bounded_by_key = false;
    GoOnUntil({});
  }
  return Found(reader()->Next(record), HA_ERR_END_OF_FILE);
}

void ha_rowan::CountEnd(ulonglong System_status_var::*end) const {
  ha_statistic_increment(end);
  ha_statistic_increment(&System_status_var::ha_read_key_count);
}

int ha_rowan::index_prev(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_read_prev_count);
  if (groups_.is_open()) return ReadNextOfGroups(record);
  if (!part_->scan.prepared) PrepareRead();
  return Found(reader()->Prev(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_first(uchar* record) {
  CountEnd(&System_status_var::ha_read_first_count);
  if (groups_.is_open()) return ReadFirstGroup(record, GroupScan::Direction::kForward);
  if (block_rows_ != nullptr) {
    block_rows_->Restart(nullptr);
    return ReadOfBlock(record);
  }
  if (SkipsRows()) return ReadAfterSkipped(record, HA_ERR_END_OF_FILE);
  if (codec().TextIndexAt(reader()->index()) != nullptr) return HA_ERR_END_OF_FILE;
  PrepareRead();
  part_->scan.bounded_by_key = false;
  reader()->SetStart({});
  SetEndOf(range_end_);
  return Found(reader()->SeekFirst(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_last(uchar* record) {
  CountEnd(&System_status_var::ha_read_last_count);
  if (groups_.is_open()) return ReadFirstGroup(record, GroupScan::Direction::kBackward);
  if (SkipsRows()) return ReadAfterSkipped(record, HA_ERR_END_OF_FILE);
  if (codec().TextIndexAt(reader()->index()) != nullptr) return HA_ERR_END_OF_FILE;
  PrepareRead();
  part_->scan.bounded_by_key = false;
  SetStartOf(end_range);
  return Found(reader()->SeekLast(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::index_next_same(uchar* record, const uchar*, uint) {
  ha_statistic_increment(&System_status_var::ha_read_next_count);
  if (groups_.is_open()) return ReadNextOfGroups(record);
  if (block_rows_ != nullptr) return ReadOfBlock(record);
  if (part_->scan.search_complete && reader()->index() == 0) {
    // The whole clustered key was given, so there is no second row. Only HANDLER goes on from here,
    // in either direction: from behind the row, as where any other search ended.
    if (thd_sql_command(ha_thd()) != SQLCOM_HA_READ) return HA_ERR_END_OF_FILE;
    PrefixSuccessor(search_key_, &bound_key_);
    GoOnUntil(bound_key_);
  }
  Status status = reader()->Next(record);
  if (part_->scan.spatial != nullptr && status.Is(Code::kEndOfRange)) {
    status = ReadNextBoxes(part_, record);
  }
  const int error = Found(status, HA_ERR_END_OF_FILE);
  return error == 0 ? 0 : RaiseInCascade(*table, error);
}

// --- ranges ---

void ha_rowan::SetEndOf(const key_range* range) {
  if (range == nullptr) {
    reader()->SetEnd({});
    return;
  }
  EncodeBound(*part_, active_index, *range, range->flag != HA_READ_BEFORE_KEY, &range_key_);
  reader()->SetEnd(range_key_);
}

void ha_rowan::SetStartOf(const key_range* range) {
  // The server itself checks the rows it gets, and passes the least key only with a condition,
  // which may put the next row far away.
  if (range == nullptr || Filter() == nullptr) {
    reader()->SetStart({});
    return;
  }
  EncodeBound(*part_, active_index, *range, range->flag == HA_READ_AFTER_KEY, &range_key_);
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
  // A skip scan searches for NULL by an exact start of a range not marked as one of equal keys:
  // then the range's end counts, not the end of the key, after which "next" would continue.
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
    // Already here: CHECKSUM TABLE takes an error of the scan itself for the end of the rows.
    const Status status = session_->OpenSnapshotFor(*engine_table());
    if (!status.ok()) return Fail(status);
  }
  reader()->OpenScan(0);
  part_->scan.search_complete = false;
  part_->scan.bounded_by_key = false;
  part_->scan.skips_rows = scan && SkipsRows();
  if (block_rows_ != nullptr) block_rows_->Restart(nullptr);
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
  if (block_rows_ != nullptr) return ReadOfBlock(record);
  if (part_->scan.skips_rows) {
    part_->scan.skips_rows = false;
    return ReadAfterSkipped(record, HA_ERR_END_OF_FILE);
  }
  return Found(reader()->Next(record), HA_ERR_END_OF_FILE);
}

int ha_rowan::rnd_pos(uchar* record, uchar* position) { return ReadReferenced(record, position); }

int ha_rowan::ReadReferenced(uchar* record, const uchar* reference) {
  ha_statistic_increment(&System_status_var::ha_read_rnd_count);
  ha_statistic_increment(&System_status_var::ha_read_key_count);
  PrepareRead();
  reader()->SetFilter(nullptr);
  part_->scan.prepared = false;
  if (references_ahead_.known()) ReadAheadFrom(reference);
  EncodeReference(*part_, reference, &search_key_);
  return Found(reader()->GetRow(search_key_, record), HA_ERR_KEY_NOT_FOUND);
}

void ha_rowan::position(const uchar* record) {
  PutReference(*part_, record, ref);
  ++references_put_;
}

int ha_rowan::cmp_ref(const uchar* left, const uchar* right) const {
  return CompareReferences(*part_, left, right);
}

int ha_rowan::LookUpOfBlock(uchar* record, const uchar* key, key_part_map keypart_map) {
  part_->scan.bounded_by_key = false;
  key_range low{key, 0, keypart_map, HA_READ_KEY_EXACT};
  RowPlan::Range keys;
  EncodeBound(*part_, active_index, low, false, &keys.from);
  EncodeBound(*part_, active_index, low, true, &keys.end);
  block_rows_->Restart(&keys);
  const int error = ReadOfBlock(record);
  return error == HA_ERR_END_OF_FILE ? HA_ERR_KEY_NOT_FOUND : error;
}

int ha_rowan::ReadOfBlock(uchar* record) {
  if (!part_->scan.prepared || part_->scan.read_set != table->read_set) PrepareRead();
  const Status status = block_rows_->Next(reader(), record);
  // Only the end is the end: an entry whose row is not there is damage.
  if (status.Is(Code::kNotFound)) return Fail(Status(Code::kCorrupt, "an entry has no row"));
  return Found(status, HA_ERR_END_OF_FILE);
}

int ha_rowan::ReadAfterSkipped(uchar* record, int error_at_end) {
  part_->scan.bounded_by_key = false;
  part_->scan.search_complete = false;
  PrepareRead();
  return Found(SkipPlannedRows(*row_plan_, part_, Filter(), record), error_at_end);
}

bool ha_rowan::ReadsSnapshot() const {
  return session_ != nullptr && read_options_.mode == ReadMode::kSnapshot &&
         session_->isolation() != IsolationLevel::kSerializable;
}

std::string ha_rowan::explain_extra() const {
  std::string text;
  const Status described = OrOutOfMemory([&] {
    if (groups_.plan() != nullptr) {
      text = groups_.plan()->description;
    } else if (block_rows_ != nullptr) {
      text = block_rows_->description();
    } else if (SkipsRows()) {
      text = ", behind " + std::to_string(row_plan_->skip) + " passed over";
    }
    return Status::Ok();
  });
  return described.ok() ? text : std::string();
}

// --- MATCH ... AGAINST (docs/fulltext.md) ---

FT_INFO* ha_rowan::ft_init_ext(uint flags, uint key_number, String* key) {
  const bool has_index =
      key_number < table->s->keys && (table->key_info[key_number].flags & HA_FULLTEXT) != 0;
  if (!has_index) {
    my_error(ER_TABLE_HAS_NO_FT, MYF(0));
    return nullptr;
  }
  auto match =
      std::make_unique<TextMatchState>(part_, codec().IndexNumberOfKey(key_number), flags, *key);
  const Status status = match->Find(session_, read_options_.mode);
  if (!status.ok()) {
    // The result is kept in memory: innodb_ft_result_cache_limit.
    const int error =
        status.Is(Code::kTooBig) ? HA_ERR_FTS_EXCEED_RESULT_CACHE_LIMIT : Fail(status);
    handler::print_error(error, MYF(0));
    return nullptr;
  }
  if (!match->result().problem.empty()) {
    my_printf_error(ER_PARSE_ERROR, "%s", MYF(0), match->result().problem.c_str());
  }
  searches_text_ = true;
  return reinterpret_cast<FT_INFO*>(static_cast<FT_INFO_EXT*>(match.release()));
}

int ha_rowan::ft_init() {
  if (ft_handler == nullptr) return HA_ERR_WRONG_COMMAND;
  static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(ft_handler))->Rewind();
  PrepareRead();
  // Checking whether a row still matches needs the texts, whatever the statement names.
  if (read_options_.mode != ReadMode::kSnapshot) part_->SetColumns(nullptr, RowKeys::kKeep);
  return 0;
}

int ha_rowan::ft_read(uchar* record) {
  auto* match = static_cast<TextMatchState*>(reinterpret_cast<FT_INFO_EXT*>(ft_handler));
  // The server asks only for their number, or their relevance.
  const bool without_rows = key_read_.asked && read_options_.mode == ReadMode::kSnapshot &&
                            bitmap_is_clear_all(table->read_set);
  for (;;) {
    const Status status =
        without_rows ? match->PassNext() : match->ReadNext(read_options_.mode, record);
    if (status.ok()) return 0;
    if (!status.Is(Code::kNotFound)) return Fail(status);
    if (thd_killed(ha_thd()) != 0) return HA_ERR_QUERY_INTERRUPTED;
  }
}

}  // namespace rowan
