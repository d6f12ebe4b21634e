// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_description.h"

#include <utility>

#include "mysql/plugin.h"
#include "sql/handler.h"
#include "sql/key.h"
#include "sql/table.h"

namespace rowan {

TableDef DescribeTable(const TABLE* form, const TableCodec& codec, const std::string& name) {
  TableDef definition;
  definition.name = name;
  definition.descriptor = codec.TableDescriptor();
  const uint32_t count = form->s->keys + (codec.has_primary_key() ? 0 : 1);
  for (uint32_t index_number = 0; index_number < count; ++index_number) {
    const uint32_t key_number = codec.KeyOfIndexNumber(index_number);
    const bool hidden = key_number >= form->s->keys;
    IndexDef index;
    index.name = hidden ? "(hidden row id)" : form->key_info[key_number].name;
    index.clustered = index_number == 0;
    index.unique = hidden || (form->key_info[key_number].flags & HA_NOSAME) != 0;
    index.descriptor = codec.IndexDescriptor(index_number);
    definition.indexes.push_back(std::move(index));
  }
  return definition;
}

std::string CatalogName(const char* path) {
  const std::string name(path);
  return name.rfind("./", 0) == 0 ? name.substr(2) : name;
}

uint64_t FirstAutoIncrement(THD* thd, const HA_CREATE_INFO& info) {
  const int command = thd_sql_command(thd);
  const bool keeps = command == SQLCOM_ALTER_TABLE || command == SQLCOM_OPTIMIZE ||
                     command == SQLCOM_CREATE_INDEX || command == SQLCOM_DROP_INDEX;
  const bool given = (info.used_fields & HA_CREATE_USED_AUTO) != 0;
  return keeps || given ? info.auto_increment_value : 0;
}

}  // namespace rowan
