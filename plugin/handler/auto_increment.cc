// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/auto_increment.h"

#include "mysql/plugin.h"
#include "sql/current_thd.h"
#include "sql/field.h"
#include "sql/key.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "engine/session.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// The column's value in a record; 0 if negative.
uint64_t AutoIncrementOf(const TABLE& table, const uchar* record) {
  Field* field = table.found_next_number_field;
  const longlong value = field->val_int_offset(record - table.record[0]);
  return value < 0 && !field->is_unsigned() ? 0 : static_cast<uint64_t>(value);
}

}  // namespace

Status LockAutoIncrement(const TablePart& part, Session* session) {
  if (part.is_temporary()) return Status::Ok();
  if (AutoIncrementLockMode() == kAutoIncrementConsecutive) {
    const int command = thd_sql_command(current_thd);
    const bool knows_count = command == SQLCOM_INSERT || command == SQLCOM_REPLACE;
    // A statement that does not know the count must get consecutive values.
    if (knows_count && !session->AutoIncrementIsLocked(*part.table())) return Status::Ok();
  }
  return session->LockAutoIncrement(*part.table());
}

void RaiseAutoIncrement(const Field& field, uint64_t value, Table* engine_table) {
  if (value == 0 || value < engine_table->auto_increment()) return;
  // At the top of the column's range the counter stays: the next insert gets the last value again.
  const uint64_t most = field.get_max_int_value();
  engine_table->RaiseAutoIncrement(value < most ? value + 1 : most);
}

void RaiseAutoIncrement(const TablePart& part, const uchar* record) {
  const TABLE& table = *part.server_table();
  RaiseAutoIncrement(*table.found_next_number_field, AutoIncrementOf(table, record), part.table());
}

Status KeepAutoIncrement(const TablePart& part, const uchar* old_record, const uchar* new_record) {
  const TABLE& table = *part.server_table();
  if (table.found_next_number_field == nullptr) return Status::Ok();
  const uint64_t value = AutoIncrementOf(table, old_record);
  if (value == 0) return Status::Ok();
  if (new_record != nullptr && AutoIncrementOf(table, new_record) == value) return Status::Ok();
  return part.table()->KeepAutoIncrement(value);
}

Status FindAutoIncrement(const TABLE& table, const TableShare& share) {
  if (table.found_next_number_field == nullptr) return Status::Ok();
  const uint key_number = table.s->next_number_index;
  const uint32_t index_number = share.codec().IndexNumberOfKey(key_number);
  const KEY_PART_INFO& part = table.key_info[key_number].key_part[0];
  const bool descending = (part.key_part_flag & HA_REVERSE_SORT) != 0;
  // Even of a deleted or uncommitted row: InnoDB counts those too.
  ByteBuffer key;
  const Status status =
      share.table()->EdgeKey(index_number, descending ? IndexEdge::kFirst : IndexEdge::kLast, &key);
  if (status.Is(Code::kEndOfRange)) return Status::Ok();
  if (!status.ok()) return status;
  Result<uint64_t> value = share.codec().FirstPartAsNumber(index_number, key);
  if (!value.ok()) return value.status();
  RaiseAutoIncrement(*table.found_next_number_field, *value, share.table());
  return Status::Ok();
}

}  // namespace rowan
