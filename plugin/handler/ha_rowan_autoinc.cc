// SPDX-License-Identifier: GPL-2.0-only
// AUTO_INCREMENT: the counter is the engine table's. Values are handed out in blocks; explicit
// values push the counter up. When a table is opened, the counter is raised above the largest value
// in the column's index. rowan_autoinc_lock_mode says which statements hold the counter exclusively
// until they end, as innodb_autoinc_lock_mode does: 0 all, 1 those that do not know how many rows
// they insert, 2 none.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {

void ha_rowan::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong count,
                                  ulonglong* first_value, ulonglong* reserved) {
  // The server takes the largest number for "failed".
  const uint64_t most = table->next_number_field->get_max_int_value();
  // Traditional: each row that was inserted pushes the counter up, so that nothing is left over.
  const uint64_t taken = AutoIncrementLockMode() == kAutoIncrementTraditional ? 0 : count;
  *first_value = engine_table()->TakeAutoIncrement({offset, increment, most}, taken);
  *reserved = count;
}

Status ha_rowan::LockAutoIncrement() {
  if (is_temporary()) return Status::Ok();
  if (AutoIncrementLockMode() == kAutoIncrementConsecutive) {
    const int command = thd_sql_command(ha_thd());
    const bool knows_count = command == SQLCOM_INSERT || command == SQLCOM_REPLACE;
    // A statement that does not know must get consecutive values.
    if (knows_count && !session_->AutoIncrementIsLocked(*engine_table())) return Status::Ok();
  }
  return session_->LockAutoIncrement(*engine_table());
}

uint64_t ha_rowan::AutoIncrementOf(const uchar* record) const {
  Field* field = table->found_next_number_field;
  const longlong value = field->val_int_offset(record - table->record[0]);
  return value < 0 && !field->is_unsigned() ? 0 : static_cast<uint64_t>(value);
}

void ha_rowan::RaiseAutoIncrement(const uchar* record) {
  const uint64_t value = AutoIncrementOf(record);
  if (value == 0 || value < engine_table()->auto_increment()) return;
  // At the top of the column's range the counter stays: the next insert meets the last value.
  const uint64_t most = table->found_next_number_field->get_max_int_value();
  engine_table()->RaiseAutoIncrement(value < most ? value + 1 : most);
}

Status ha_rowan::KeepAutoIncrement(const uchar* old_record, const uchar* new_record) {
  if (table->found_next_number_field == nullptr) return Status::Ok();
  const uint64_t value = AutoIncrementOf(old_record);
  if (value == 0) return Status::Ok();
  if (new_record != nullptr && AutoIncrementOf(new_record) == value) return Status::Ok();
  return engine_table()->KeepAutoIncrement(value);
}

Status ha_rowan::FindAutoIncrement(const TableShare& share) const {
  if (table->found_next_number_field == nullptr) return Status::Ok();
  const uint key_number = table->s->next_number_index;
  const uint32_t index_number = share.codec().IndexNumberOfKey(key_number);
  const KEY_PART_INFO& part = table->key_info[key_number].key_part[0];
  const bool descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  // Even of a row that is deleted or not committed: InnoDB counts those too.
  ByteBuffer key;
  const Status status =
      share.table()->EdgeKey(index_number, descending ? IndexEdge::kFirst : IndexEdge::kLast, &key);
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  Result<uint64_t> value = share.codec().FirstPartAsNumber(index_number, key);
  if (!value.ok()) return value.status();
  const uint64_t most = table->found_next_number_field->get_max_int_value();
  share.table()->RaiseAutoIncrement(*value < most ? *value + 1 : most);
  return Status::Ok();
}

void ha_rowan::update_create_info(HA_CREATE_INFO* create_info) {
  const Result<std::string> directory = g_engine->DirectoryOf(engine_table()->id());
  if (directory.ok() && !directory.value().empty()) {
    // The server wants a file's name there, and takes what precedes the last slash. A fixed one: a
    // table's name may have slashes of its own, and be of a user who must not name directories.
    const std::string file = directory.value() + "/table";
    create_info->data_file_name = ha_thd()->mem_strdup(file.c_str());
  }
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) != 0) return;
  create_info->auto_increment_value =
      table->found_next_number_field != nullptr ? engine_table()->auto_increment() : 0;
}

}  // namespace rowan
