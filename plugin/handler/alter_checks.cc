// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/alter_checks.h"

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/create_field.h"
#include "sql/derror.h"
#include "sql/handler.h"
#include "sql/sql_alter.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "plugin/compat/server_line.h"

namespace rowan {
namespace {

using Changes = Alter_inplace_info;

/// Changes that concern only the dictionary, or that the comparison decides about.
constexpr Changes::HA_ALTER_FLAGS kDictionaryChanges =
    Changes::ADD_STORED_BASE_COLUMN | Changes::ADD_VIRTUAL_COLUMN | Changes::DROP_STORED_COLUMN |
    Changes::DROP_VIRTUAL_COLUMN | Changes::ALTER_STORED_COLUMN_ORDER |
    Changes::ALTER_VIRTUAL_COLUMN_ORDER | Changes::ALTER_COLUMN_NAME |
    Changes::ALTER_COLUMN_DEFAULT | Changes::ALTER_COLUMN_EQUAL_PACK_LENGTH |
    Changes::ALTER_STORED_COLUMN_TYPE | Changes::ALTER_COLUMN_INDEX_LENGTH |
    Changes::ALTER_COLUMN_STORAGE_TYPE | Changes::ALTER_COLUMN_COLUMN_FORMAT |
    Changes::ALTER_COLUMN_VISIBILITY | kMaskingChange | Changes::CHANGE_CREATE_OPTION |
    Changes::ALTER_RENAME | Changes::RENAME_INDEX | Changes::ALTER_INDEX_COMMENT |
    Changes::CHANGE_INDEX_OPTION | Changes::ADD_CHECK_CONSTRAINT | Changes::DROP_CHECK_CONSTRAINT |
    Changes::SUSPEND_CHECK_CONSTRAINT | Changes::DROP_FOREIGN_KEY;
/// Changes made in place, though not instantly.
constexpr Changes::HA_ALTER_FLAGS kIndexChanges = Changes::ADD_INDEX | Changes::ADD_UNIQUE_INDEX |
                                                  Changes::ADD_SPATIAL_INDEX | Changes::DROP_INDEX |
                                                  Changes::DROP_UNIQUE_INDEX;
/// Changes that make a new table from the existing rows.
constexpr Changes::HA_ALTER_FLAGS kRebuildChanges =
    Changes::RECREATE_TABLE | Changes::ADD_PK_INDEX | Changes::DROP_PK_INDEX |
    Changes::ALTER_COLUMN_NULLABLE | Changes::ALTER_COLUMN_NOT_NULLABLE;

/// Whether values keep their meaning according to the server. It denies that for a VARCHAR that
/// starts to need two length bytes in its records, which ours never have.
bool ValuesStay(Field* before, const Create_field& after) {
  if (before->is_gcol() != after.is_gcol()) return false;
  if (before->is_equal(&after) != IS_EQUAL_NO) return true;
  return before->real_type() == MYSQL_TYPE_VARCHAR && after.sql_type == MYSQL_TYPE_VARCHAR &&
         before->charset() == after.charset &&
         after.max_display_width_in_bytes() >= before->field_length && !before->is_gcol();
}

/// A new column that has one value in all existing rows, or is computed from others.
bool HasOneValue(const Create_field& column) {
  if (column.is_virtual_gcol()) return true;
  return column.m_default_val_expr == nullptr && (column.auto_flags & Field::NEXT_NUMBER) == 0 &&
         column.gcol_info == nullptr;
}

bool SameName(const char* one, const char* other) {
  return my_strcasecmp(system_charset_info, one, other) == 0;
}

/// What the index with this name was called before; null: another one had the name.
const char* FormerName(const Alter_inplace_info& info, const char* name) {
  const char* former = name;
  for (uint i = 0; i < info.index_rename_count; ++i) {
    const KEY_PAIR& renamed = info.index_rename_buffer[i];
    if (SameName(renamed.new_key->name, name)) return renamed.old_key->name;
    if (SameName(renamed.old_key->name, name)) former = nullptr;
  }
  return former;
}

}  // namespace

bool MayDoWithoutCopy(THD* thd, const Alter_inplace_info& info) {
  auto possible = kDictionaryChanges | kIndexChanges | kRebuildChanges;
  // Foreign keys are only in the server's dictionary. Only rows to be checked are copied.
  if (thd_test_options(thd, OPTION_NO_FOREIGN_KEY_CHECKS) != 0) {
    possible |= Changes::ADD_FOREIGN_KEY;
  }
  return (info.handler_flags & ~possible) == 0;
}

bool WantsRebuild(const Alter_inplace_info& info) {
  return (info.handler_flags & kRebuildChanges) != 0 || info.error_if_not_empty;
}

bool MapColumns(const TABLE& table, const Alter_info& alter, ColumnMap* former) {
  for (const Create_field& column : alter.create_list) {
    const bool is_new = column.field == nullptr;
    const uint32_t before = is_new ? kNoColumn : column.field->field_index();
    former->push_back(before);
    if (is_new ? !HasOneValue(column) : !ValuesStay(table.field[before], column)) return false;
  }
  return true;
}

const char* ReasonForCopy(THD* thd, const Alter_inplace_info& info) {
  const auto flags = info.handler_flags;
  const bool instant =
      info.alter_info->requested_algorithm == Alter_info::ALTER_TABLE_ALGORITHM_INSTANT;
  if ((flags & Changes::ADD_FOREIGN_KEY) != 0) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_FK_CHECK);
  }
  if ((flags & Changes::ALTER_STORED_COLUMN_TYPE) != 0) {
    return instant ? ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE_INSTANT)
                   : ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_COLUMN_TYPE);
  }
  const auto pk = flags & (Changes::ADD_PK_INDEX | Changes::DROP_PK_INDEX);
  if (pk == Changes::DROP_PK_INDEX) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOPK);
  }
  if ((flags & Changes::ALTER_COLUMN_NOT_NULLABLE) != 0 && !thd->is_strict_mode()) {
    return ER_THD(thd, ER_ALTER_OPERATION_NOT_SUPPORTED_REASON_NOT_NULL);
  }
  return nullptr;
}

uint FormerKey(const TABLE& table, const Alter_inplace_info& info, const char* name) {
  const char* former = FormerName(info, name);
  uint key = 0;
  while (former != nullptr && key < table.s->keys && !SameName(table.key_info[key].name, former)) {
    ++key;
  }
  return former != nullptr && key < table.s->keys ? key : MAX_KEY;
}

}  // namespace rowan
