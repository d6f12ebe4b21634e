// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/table_description.h"

#include <utility>

#include "mysql/plugin.h"
#include "sql/handler.h"
#include "sql/key.h"
#include "sql/sql_class.h"
#include "sql/table.h"

#include "plugin/handler/create_checks.h"
#include "plugin/handler/stopword_table.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

/// The words of the FULLTEXT indexes of an existing table. False: it cannot be opened.
bool TakeWords(TableId former, TableCodec* codec) {
  Result<std::shared_ptr<Table>> opened = g_engine->OpenTable(former);
  if (!opened.ok()) return false;
  const std::vector<IndexDef>& indexes = (*opened)->definition().indexes;
  for (uint32_t i = 0; i < indexes.size(); ++i) {
    if (!codec->RestoreIndex(i, indexes[i].descriptor)) return false;
  }
  return true;
}

/// The words of a new table's FULLTEXT indexes: from the settings, or, if TRUNCATE empties a table,
/// as they were. `former`: that table's id.
Status ChooseWordsOfNew(THD* thd, dd::Object_id former, TableCodec* codec, std::string* refusal) {
  if (!codec->HasTextIndex()) return Status::Ok();
  if (former != dd::INVALID_OBJECT_ID && TakeWords(TableId(former), codec)) return Status::Ok();
  WordLimits limits;
  const Status status = WordLimitsNow(thd, &limits, refusal);
  if (status.ok()) codec->SetWordLimits(limits);
  return status;
}

}  // namespace

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

int DescribeNewTable(THD* thd, TABLE* form, const HA_CREATE_INFO& info, const std::string& name,
                     TableDef* definition, dd::Object_id former) {
  const Refusal option = UnsupportedOption(thd, form, info);
  if (option.refuses()) return Refuse(thd, option);
  const int command = thd_sql_command(thd);
  if (command != SQLCOM_TRUNCATE && command != SQLCOM_OPTIMIZE) {
    NoteIgnoredOptions(thd, form, info);
  }
  std::string refusal;
  Result<std::unique_ptr<TableCodec>> made =
      TableCodec::Make(form, g_engine->options().storage.page_size_bytes, &refusal);
  if (!made.ok()) {
    return made.status().Is(Code::kUnsupported) ? RefuseUnsupported(refusal)
                                                : HandlerError(thd, made.status());
  }
  if (form->s->fields > kColumnsMax) return HA_ERR_TOO_MANY_FIELDS;
  const Status chosen = ChooseWordsOfNew(thd, former, made->get(), &refusal);
  if (chosen.Is(Code::kUnsupported)) return RefuseUnsupported(refusal);
  if (!chosen.ok()) return HandlerError(thd, chosen);
  const Status status = (*made)->CheckLimits();
  if (!status.ok()) return HandlerError(thd, status);
  *definition = DescribeTable(form, **made, name);
  return 0;
}

}  // namespace rowan
