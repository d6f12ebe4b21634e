// SPDX-License-Identifier: GPL-2.0-only
// Inserting, updating and deleting one row: engine/table_writer.h does it, once the row is known.
// The copy of ALTER TABLE (and CREATE INDEX, OPTIMIZE): rows go into the new table through a
// BulkLoad, which begins when the server announces the copy and finishes with its bulk insert.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <limits>

#include "my_bitmap.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "sql/derror.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "plugin/handler/auto_increment.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/logged_documents.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

bool SameRow(const TABLE& table, const uchar* old_record, const uchar* new_record) {
  for (uint i = 0; i < table.s->fields; ++i) {
    Field* field = table.field[i];
    if (field->is_virtual_gcol()) continue;
    const auto old_offset = static_cast<ptrdiff_t>(old_record - table.record[0]);
    const auto new_offset = static_cast<ptrdiff_t>(new_record - table.record[0]);
    const bool old_null = field->is_null(old_offset);
    if (old_null != field->is_null(new_offset)) return false;
    if (old_null) continue;
    if (field->cmp_binary(field->field_ptr() + old_offset, field->field_ptr() + new_offset) != 0) {
      return false;
    }
  }
  return true;
}

}  // namespace

int ha_rowan::NoteFailure(Status status) {
  if (status.Is(Code::kDuplicate)) duplicate_key_ = codec().KeyOfIndexNumber(status.detail());
  return Fail(status);
}

void ha_rowan::mv_key_capacity(uint* keys, size_t* bytes) const {
  // Each entry of an index on an array is written separately: there is no limit for all.
  *keys = std::numeric_limits<uint>::max();
  *bytes = std::numeric_limits<uint32_t>::max();
}

// --- insert ---

int ha_rowan::write_row(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_write_count);
  if (unchecked_keys_ == UncheckedKeys::kAll) return RefuseUnchecked();
  const bool generates = table->next_number_field != nullptr && record == table->record[0];
  if (generates) {
    if (AutoIncrementLockMode() != kAutoIncrementInterleaved) {
      const Status locked = LockAutoIncrement(*part_, session_);
      if (!locked.ok()) return Fail(locked);
    }
    const int error = update_auto_increment();
    if (error != 0) return error;
  }
  TableWriter* writer = part_->WriterFor(session_);
  const Status status = part_->load != nullptr ? writer->Load(part_->load.get(), record)
                                               : writer->Insert(record, duplicate_mode_);
  if (!status.ok()) return NoteFailure(status);
  if (generates) RaiseAutoIncrement(*part_, record);
  return 0;
}

void ha_rowan::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong count,
                                  ulonglong* first_value, ulonglong* reserved) {
  // The server interprets the largest number as "failed".
  const uint64_t most = table->next_number_field->get_max_int_value();
  // Traditional: each inserted row raises the counter, so no values are left over.
  const uint64_t taken = AutoIncrementLockMode() == kAutoIncrementTraditional ? 0 : count;
  *first_value = engine_table()->TakeAutoIncrement({offset, increment, most}, taken);
  *reserved = count;
}

// --- update and delete ---

const IndexSet* ha_rowan::ChangedIndexes() {
  // Only for plain UPDATE is the write set known to name every column that changes.
  const int command = thd_sql_command(ha_thd());
  const bool precise =
      (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI) && !part_->cascades_may_return();
  if (!precise) return nullptr;
  const TableCodec& codec = this->codec();
  const auto count = static_cast<uint32_t>(changed_indexes_.size());
  bool any = false;
  for (uint32_t i = 0; i < count; ++i) {
    const uint32_t key_number = codec.KeyOfIndexNumber(i);
    if (key_number >= table->s->keys) continue;
    const KEY& key = table->key_info[key_number];
    bool changes = false;
    for (uint part = 0; part < key.user_defined_key_parts && !changes; ++part) {
      changes = bitmap_is_set(table->write_set, key.key_part[part].fieldnr - 1);
    }
    // Every entry holds the clustered key.
    if (changes && i == 0) return nullptr;
    changed_indexes_[i] = changes;
    any = any || changes;
  }
  return any ? &changed_indexes_ : &no_indexes_;
}

int ha_rowan::update_row(const uchar* old_record, uchar* new_record) {
  ha_statistic_increment(&System_status_var::ha_update_count);
  if (unchecked_keys_ != UncheckedKeys::kNone) return RefuseUnchecked();
  // The server compares itself when it knows all columns it writes, but never for REPLACE.
  const bool compared =
      duplicate_mode_ == LockMode::kShared && bitmap_is_subset(table->write_set, table->read_set);
  if (!compared && SameRow(*table, old_record, new_record)) return HA_ERR_RECORD_IS_THE_SAME;
  LogWholeDocuments(table);
  const Status status = UpdateRecord(old_record, new_record);
  return status.ok() ? 0 : RaiseInCascade(*table, NoteFailure(status));
}

Status ha_rowan::UpdateRecord(const uchar* old_record, uchar* new_record) {
  const bool renumbers =
      table->found_next_number_field != nullptr &&
      bitmap_is_set(table->write_set, table->found_next_number_field->field_index());
  Status status = renumbers ? KeepAutoIncrement(*part_, old_record, new_record) : Status::Ok();
  if (!status.ok()) return status;
  StoredRecord row;
  status = part_->FindStored(old_record, session_, &row);
  if (!status.ok()) return status;
  TableWriter* writer = part_->WriterFor(session_);
  status = writer->Take(row, ChangedIndexes());
  if (!status.ok()) return status;
  if (row.record != old_record) {
    const auto* stored = static_cast<const uchar*>(row.record);
    status = KeepStoredValues(table, old_record, stored, new_record);
    if (!status.ok()) return status;
  }
  status = writer->Update(new_record);
  if (status.ok() && renumbers && new_record == table->record[0])
    RaiseAutoIncrement(*part_, new_record);
  return status;
}

int ha_rowan::delete_row(const uchar* record) {
  ha_statistic_increment(&System_status_var::ha_delete_count);
  if (unchecked_keys_ != UncheckedKeys::kNone) return RefuseUnchecked();
  const Status status = DeleteRecord(record);
  return status.ok() ? 0 : RaiseInCascade(*table, NoteFailure(status));
}

Status ha_rowan::DeleteRecord(const uchar* record) {
  StoredRecord row;
  Status status = part_->FindStored(record, session_, &row);
  // A cascade of this deletion returned to the row and deleted it.
  if (part_->cascades_may_return() && status.Is(Code::kNotFound)) return Status::Ok();
  if (!status.ok()) return status;
  status = KeepAutoIncrement(*part_, record, nullptr);
  if (!status.ok()) return status;
  TableWriter* writer = part_->WriterFor(session_);
  status = writer->Take(row);
  if (!status.ok()) return status;
  return writer->Delete();
}

// --- the copy of ALTER TABLE ---

int ha_rowan::BeginLoad(size_t sort_memory_bytes) {
  if (part_->is_temporary()) return 0;  // nothing to save: its rows are not logged
  Result<bool> possible = BulkLoad::IsPossible(session_, engine_table());
  if (!possible.ok()) return Fail(possible.status());
  duplicate_in_load_ = false;
  if (*possible) {
    const BuildLimits limits{.sort_memory_bytes = sort_memory_bytes,
                             .threads = DdlThreads(ha_thd())};
    part_->load = std::make_unique<BulkLoad>(session_, engine_table(), limits);
  }
  return 0;
}

int ha_rowan::end_bulk_insert() {
  if (part_->load == nullptr) return 0;
  const std::unique_ptr<BulkLoad> load = std::move(part_->load);
  if (ha_thd()->is_error()) return 0;  // the statement has failed: the table will be dropped
  Status status = load->Finish();
  if (status.Is(Code::kDuplicate)) {
    status = ShowDuplicate(status, load->duplicate_key());
  }
  if (status.ok()) return 0;
  duplicate_in_load_ = true;
  const int error = Fail(status);
  set_my_errno(error);
  return error;
}

void ha_rowan::print_error(int error, myf flags) {
  // What interrupted the engine has been reported: the server's own evaluation of a condition.
  if (error == HA_ERR_QUERY_INTERRUPTED && ha_thd()->is_error()) return;
  const bool duplicate = error == HA_ERR_FOUND_DUPP_KEY && duplicate_key_ < table->s->keys;
  const Table_ref* altered = ha_thd()->lex->query_tables;
  if (!duplicate_in_load_ || !duplicate || altered == nullptr)
    return handler::print_error(error, flags);
  // The table's temporary name would mean nothing to the user.
  print_keydup_error(table, &table->key_info[duplicate_key_],
                     ER_THD(ha_thd(), ER_DUP_ENTRY_WITH_KEY_NAME), flags, altered->table_name);
}

Status ha_rowan::ShowDuplicate(Status status, Bytes entry_key) {
  // The message is made from the record; an index on part of a column does not hold the value.
  duplicate_key_ = codec().KeyOfIndexNumber(status.detail());
  ByteBuffer scratch;
  Result<Bytes> row_key = codec().ClusteredKeyOf(status.detail(), entry_key, &scratch);
  if (!row_key.ok()) return row_key.status();
  part_->ComputeColumns(true);
  part_->SetColumns(nullptr, KeysFor(false));
  const Status read = reader()->GetRow(*row_key, table->record[0]);
  return read.ok() ? status : read;
}

}  // namespace rowan
