// SPDX-License-Identifier: GPL-2.0-only
// Inserting, updating and deleting one row: engine/table_writer.h does it, as soon as it is known
// which row it is.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include <limits>

#include "my_bitmap.h"
#include "mysql/plugin.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/logged_documents.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {

int ha_rowan::NoteFailure(Status status) {
  if (status.Is(Code::kDuplicate)) duplicate_key_ = codec().KeyOfIndexNumber(status.detail());
  return Fail(status);
}

void ha_rowan::mv_key_capacity(uint* keys, size_t* bytes) const {
  // Each entry of an index on an array is written by itself: there is no limit of all.
  *keys = std::numeric_limits<uint>::max();
  *bytes = std::numeric_limits<uint32_t>::max();
}

// --- insert ---

int ha_rowan::write_row(uchar* record) {
  ha_statistic_increment(&System_status_var::ha_write_count);
  if (!MayInsert()) return RefuseUnchecked();
  const bool generates = table->next_number_field != nullptr && record == table->record[0];
  if (generates) {
    if (AutoIncrementLockMode() != kAutoIncrementInterleaved) {
      const Status locked = LockAutoIncrement();
      if (!locked.ok()) return Fail(locked);
    }
    const int error = update_auto_increment();
    if (error != 0) return error;
  }
  TableWriter* writer = part_->WriterFor(session_, this);
  const Status status = part_->load != nullptr ? writer->Load(part_->load.get(), record)
                                               : writer->Insert(record, duplicate_mode_);
  if (!status.ok()) return NoteFailure(status);
  if (generates) RaiseAutoIncrement(record);
  return 0;
}

// --- update and delete ---

void ha_rowan::ChooseChangedIndexes() {
  // Only for plain UPDATE is the write set known to name every column that changes.
  const int command = thd_sql_command(ha_thd());
  const bool precise =
      (command == SQLCOM_UPDATE || command == SQLCOM_UPDATE_MULTI) && !cascades_may_return_;
  changed_indexes_.assign(changed_indexes_.size(), !precise);
  if (!precise) return;
  for (uint32_t i = 0; i < changed_indexes_.size(); ++i) {
    const uint32_t key_number = codec().KeyOfIndexNumber(i);
    if (key_number >= table->s->keys) continue;
    const KEY& key = table->key_info[key_number];
    for (uint part = 0; part < key.user_defined_key_parts && !changed_indexes_[i]; ++part) {
      changed_indexes_[i] = bitmap_is_set(table->write_set, key.key_part[part].fieldnr - 1);
    }
  }
  // Every entry holds the clustered key.
  if (changed_indexes_[0]) changed_indexes_.assign(changed_indexes_.size(), true);
}

bool ha_rowan::SameRow(const uchar* old_record, const uchar* new_record) {
  // The server compares by itself when it knows all columns it writes, but never for REPLACE.
  if (duplicate_mode_ == LockMode::kShared && bitmap_is_subset(table->write_set, table->read_set)) {
    return false;
  }
  for (uint i = 0; i < table->s->fields; ++i) {
    Field* field = table->field[i];
    if (field->is_virtual_gcol()) continue;
    const auto old_offset = static_cast<ptrdiff_t>(old_record - table->record[0]);
    const auto new_offset = static_cast<ptrdiff_t>(new_record - table->record[0]);
    const bool old_null = field->is_null(old_offset);
    if (old_null != field->is_null(new_offset)) return false;
    if (old_null) continue;
    if (field->cmp_binary(field->field_ptr() + old_offset, field->field_ptr() + new_offset) != 0) {
      return false;
    }
  }
  return true;
}

int ha_rowan::update_row(const uchar* old_record, uchar* new_record) {
  ha_statistic_increment(&System_status_var::ha_update_count);
  if (!MayChange()) return RefuseUnchecked();
  if (SameRow(old_record, new_record)) return HA_ERR_RECORD_IS_THE_SAME;
  LogWholeDocuments(table);
  const Status status = UpdateRecord(old_record, new_record);
  return status.ok() ? 0 : RaiseInCascade(NoteFailure(status));
}

Status ha_rowan::UpdateRecord(const uchar* old_record, uchar* new_record) {
  const bool renumbers =
      table->found_next_number_field != nullptr &&
      bitmap_is_set(table->write_set, table->found_next_number_field->field_index());
  Status status = renumbers ? KeepAutoIncrement(old_record, new_record) : Status::Ok();
  if (!status.ok()) return status;
  StoredRecord row;
  status = FindStored(old_record, &row);
  if (!status.ok()) return status;
  ChooseChangedIndexes();
  TableWriter* writer = part_->WriterFor(session_, this);
  status = writer->Take(row, &changed_indexes_);
  if (!status.ok()) return status;
  if (row.record != old_record) {
    const auto* stored = static_cast<const uchar*>(row.record);
    status = KeepStoredValues(table, old_record, stored, new_record);
    if (!status.ok()) return status;
  }
  status = writer->Update(new_record);
  if (status.ok() && renumbers && new_record == table->record[0]) RaiseAutoIncrement(new_record);
  return status;
}

int ha_rowan::delete_row(const uchar* record) {
  ha_statistic_increment(&System_status_var::ha_delete_count);
  if (!MayChange()) return RefuseUnchecked();
  const Status status = DeleteRecord(record);
  return status.ok() ? 0 : RaiseInCascade(NoteFailure(status));
}

Status ha_rowan::DeleteRecord(const uchar* record) {
  StoredRecord row;
  Status status = FindStored(record, &row);
  // A cascade of this deletion returned to the row and deleted it.
  if (cascades_may_return_ && status.Is(Code::kNotFound)) return Status::Ok();
  if (!status.ok()) return status;
  status = KeepAutoIncrement(record, nullptr);
  if (!status.ok()) return status;
  TableWriter* writer = part_->WriterFor(session_, this);
  status = writer->Take(row);
  if (!status.ok()) return status;
  return writer->Delete();
}

}  // namespace rowan
