// SPDX-License-Identifier: GPL-2.0-only
// AUTO_INCREMENT: the counter is the engine table's. Values are handed out in blocks without any
// table lock, so concurrent statements interleave; explicit values push the counter up.
#include "plugin/abi_guard.h"

#include "plugin/ha_rowan.h"

#include "sql/field.h"

#include "base/logging.h"

namespace rowan {

void ha_rowan::get_auto_increment(ulonglong offset, ulonglong increment, ulonglong count,
                                  ulonglong* first_value, ulonglong* reserved) {
  Result<uint64_t> first = engine_table()->TakeAutoIncrement(offset, increment, count);
  // The server takes this value for "failed"; the engine has logged why.
  *first_value = first.ok() ? *first : ULLONG_MAX;
  *reserved = count;
}

Status ha_rowan::RaiseAutoIncrement(const uchar* record) {
  Field* field = table->found_next_number_field;
  const auto offset = static_cast<ptrdiff_t>(record - table->record[0]);
  if (offset != 0) return Status::Ok();
  const longlong value = field->val_int();
  if (value == 0 || (value < 0 && !field->is_unsigned())) return Status::Ok();
  const auto number = static_cast<uint64_t>(value);
  if (number < engine_table()->auto_increment()) return Status::Ok();
  // At the top of the column's range the counter stays where it is: the next insert fails by
  // itself.
  if (number >= field->get_max_int_value() && number == UINT64_MAX) {
    return engine_table()->RaiseAutoIncrement(UINT64_MAX);
  }
  return engine_table()->RaiseAutoIncrement(number + 1);
}

void ha_rowan::update_create_info(HA_CREATE_INFO* create_info) {
  if ((create_info->used_fields & HA_CREATE_USED_AUTO) != 0) return;
  create_info->auto_increment_value =
      table->found_next_number_field != nullptr ? engine_table()->auto_increment() : 0;
}

}  // namespace rowan
