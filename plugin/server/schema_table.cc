// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/schema_table.h"

#include "mysql/plugin.h"
#include "sql/auth/auth_acls.h"
#include "sql/auth/auth_common.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_plugin.h"
#include "sql/sql_show.h"
#include "sql/tztime.h"

namespace rowan {

ST_FIELD_INFO NumberColumn(const char* name) {
  return {name, MY_INT64_NUM_DECIMAL_DIGITS, MYSQL_TYPE_LONGLONG, 0, MY_I_S_UNSIGNED, "", 0};
}
ST_FIELD_INFO NullableNumberColumn(const char* name) {
  return {name, MY_INT64_NUM_DECIMAL_DIGITS,         MYSQL_TYPE_LONGLONG,
          0,    MY_I_S_UNSIGNED | MY_I_S_MAYBE_NULL, "",
          0};
}
ST_FIELD_INFO FractionColumn(const char* name) {
  return {name, MAX_DOUBLE_STR_LENGTH, MYSQL_TYPE_DOUBLE, 0, 0, "", 0};
}
ST_FIELD_INFO TextColumn(const char* name, uint characters_max) {
  return {name, characters_max, MYSQL_TYPE_STRING, 0, 0, "", 0};
}
ST_FIELD_INFO NullableTextColumn(const char* name, uint characters_max) {
  return {name, characters_max, MYSQL_TYPE_STRING, 0, MY_I_S_MAYBE_NULL, "", 0};
}
ST_FIELD_INFO TimeColumn(const char* name) {
  return {name, 0, MYSQL_TYPE_DATETIME, 0, MY_I_S_MAYBE_NULL, "", 0};
}
ST_FIELD_INFO LastColumn() { return {nullptr, 0, MYSQL_TYPE_NULL, 0, 0, nullptr, 0}; }

bool MayLook(THD* thd) {
  return plugin_lock_by_name(thd, {STRING_WITH_LEN("ROWAN")}, MYSQL_STORAGE_ENGINE_PLUGIN) !=
             nullptr &&
         !check_global_access(thd, PROCESS_ACL);
}

SchemaRows& SchemaRows::Number(uint64_t value) {
  Next()->store(static_cast<longlong>(value), true);
  return *this;
}

SchemaRows& SchemaRows::NumberOrNull(uint64_t value, bool known) {
  Field* field = Next();
  if (known) {
    field->set_notnull();
    field->store(static_cast<longlong>(value), true);
  } else {
    field->set_null();
  }
  return *this;
}

SchemaRows& SchemaRows::Fraction(double value) {
  Next()->store(value);
  return *this;
}

SchemaRows& SchemaRows::Text(const std::string& text) {
  Next()->store(text.data(), text.size(), system_charset_info);
  return *this;
}

SchemaRows& SchemaRows::TextOrNull(const std::string& text) {
  Field* field = Next();
  if (text.empty()) {
    field->set_null();
  } else {
    field->set_notnull();
    field->store(text.data(), text.size(), system_charset_info);
  }
  return *this;
}

SchemaRows& SchemaRows::Time(int64_t seconds) {
  Field* field = Next();
  if (seconds == 0) {
    field->set_null();
  } else {
    MYSQL_TIME time;
    thd_->variables.time_zone->gmt_sec_to_TIME(&time, seconds);
    field->set_notnull();
    field->store_time(&time);
  }
  return *this;
}

bool SchemaRows::Store() {
  column_ = 0;
  return schema_table_store_record(thd_, table_);
}

int DescribeSchemaTable(void* schema_table, ST_FIELD_INFO* columns,
                        int (*fill)(THD*, Table_ref*, Item*)) {
  auto* schema = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  schema->fields_info = columns;
  schema->fill_table = fill;
  return 0;
}

}  // namespace rowan
