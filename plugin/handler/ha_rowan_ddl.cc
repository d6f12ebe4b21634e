// SPDX-License-Identifier: GPL-2.0-only
// CREATE, DROP, RENAME and TRUNCATE. Every change of the catalog is part of the session's
// transaction, so the server's dictionary and ours commit or roll back together. TRUNCATE arrives
// as CREATE with a definition that already has a table: the old one is dropped in the same
// transaction. Temporary tables are in no catalog: they are created and dropped at once. AlterJob
// does ALTER without a copy by the server.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/dd/types/table.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "base/logging.h"
#include "plugin/handler/alter_job.h"
#include "plugin/handler/data_directory.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/table_description.h"
#include "plugin/handler/table_transport.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/table_statistics.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// For an existing table: its id tells.
bool IsTemporary(const dd::Table* table_def) {
  const dd::Object_id id = table_def->se_private_id();
  return id != dd::INVALID_OBJECT_ID && rowan::IsTemporary(TableId(id));
}

/// Places a table where TRUNCATE found it, or where it is wanted. `former`: its id.
int Place(THD* thd, const HA_CREATE_INFO& info, dd::Object_id former, TableDef* definition) {
  if (former != dd::INVALID_OBJECT_ID) {
    return HandlerError(thd, KeepDirectory(TableId(former), definition));
  }
  return ChooseDirectory(thd, DirectoryOf(info), &definition->directory);
}

int CreateTemporary(THD* thd, TableDef definition, uint64_t auto_increment, dd::Table* table_def) {
  if (IsTemporary(table_def)) {  // TRUNCATE
    const Status status = g_engine->DropTemporaryTable(TableId(table_def->se_private_id()));
    if (!status.ok()) return HandlerError(thd, status);
  }
  Result<std::shared_ptr<Table>> created =
      g_engine->CreateTemporaryTable(std::move(definition), auto_increment);
  if (!created.ok()) return HandlerError(thd, created.status());
  table_def->set_se_private_id((*created)->id().value());
  return 0;
}

}  // namespace

int ha_rowan::create(const char* name, TABLE* form, HA_CREATE_INFO* create_info,
                     dd::Table* table_def) {
  THD* thd = ha_thd();
  if (IsDiscarded(table_def->se_private_data()))
    return RefuseDiscarded(form->s->table_name.str);  // TRUNCATE
  const dd::Object_id old_id = table_def->se_private_id();
  TableDef definition;
  const int refused =
      DescribeNewTable(thd, form, *create_info, CatalogName(name), &definition, old_id);
  if (refused != 0) return refused;
  const uint64_t auto_increment = FirstAutoIncrement(thd, *create_info);
  if ((create_info->options & HA_LEX_CREATE_TMP_TABLE) != 0 || IsTemporary(table_def)) {
    return CreateTemporary(thd, std::move(definition), auto_increment, table_def);
  }
  const int misplaced = Place(thd, *create_info, old_id, &definition);
  if (misplaced != 0) return misplaced;
  ThdContext* context = ContextOf(thd);
  Status status = EnterCatalogChange(thd, context);
  if (!status.ok()) return HandlerError(thd, status);
  if (old_id != dd::INVALID_OBJECT_ID) {
    status = g_engine->DropTable(context->session.get(), TableId(old_id));
    if (!status.ok()) return HandlerError(thd, status);
  }
  const std::string directory = definition.directory;
  Result<std::shared_ptr<Table>> created =
      g_engine->CreateTable(context->session.get(), std::move(definition), auto_increment);
  if (!created.ok()) return FailCreate(thd, directory, created.status());
  table_def->set_se_private_id((*created)->id().value());
  RememberForStatistics(*form, table_def);
  return 0;
}

int ha_rowan::delete_table(const char* name, const dd::Table* table_def) {
  THD* thd = ha_thd();
  if (IsTemporary(table_def)) {
    const TableId id(table_def->se_private_id());
    return HandlerError(thd, g_engine->DropTemporaryTable(id));
  }
  RemoveExportsOf(name);
  ThdContext* context = ContextOf(thd);
  Status status = EnterCatalogChange(thd, context);
  if (status.ok()) {
    status = g_engine->DropTable(context->session.get(), TableId(table_def->se_private_id()));
  }
  if (status.Is(Code::kNotFound)) {
    // The dictionary's row must still be removed, or the table could never be dropped.
    LogWarning("Table '{}' is dropped although the Rowan catalog does not have it.", name);
    return 0;
  }
  return HandlerError(thd, status);
}

bool ha_rowan::check_if_incompatible_data(HA_CREATE_INFO*, uint changes) {
  return changes == IS_EQUAL_YES ? COMPATIBLE_DATA_YES : COMPATIBLE_DATA_NO;
}

int ha_rowan::rename_table(const char*, const char* to, const dd::Table* from_def,
                           dd::Table* to_def) {
  THD* thd = ha_thd();
  ThdContext* context = ContextOf(thd);
  Status status = EnterCatalogChange(thd, context);
  if (status.ok()) {
    status = g_engine->RenameTable(context->session.get(), TableId(from_def->se_private_id()),
                                   CatalogName(to));
  }
  if (status.ok()) {
    to_def->se_private_data().set(kChangedByProperty, context->session->txn_number());
  }
  return status.Is(Code::kNotFound) ? HA_ERR_NO_SUCH_TABLE : HandlerError(thd, status);
}

int ha_rowan::discard_or_import_tablespace(bool discard, dd::Table* table_def) {
  if (part_->is_temporary()) {
    my_error(ER_CANNOT_DISCARD_TEMPORARY_TABLE, MYF(0));
    return HA_ERR_WRONG_COMMAND;
  }
  const bool unchecked = thd_test_options(ha_thd(), OPTION_NO_FOREIGN_KEY_CHECKS) != 0;
  if (discard && !unchecked && !part_->share()->discarded() &&
      table_share->is_referenced_by_foreign_key()) {
    return HA_ERR_ROW_IS_REFERENCED;
  }
  uint64_t id = 0;
  TableTransport transport(table, part_->share());
  const int error = transport.DiscardOrImport(discard, &table_def->se_private_data(), &id);
  if (error == 0) table_def->set_se_private_id(id);
  return error;
}

// --- ALTER without a copy ---

enum_alter_inplace_result ha_rowan::check_if_supported_inplace_alter(TABLE* altered_table,
                                                                     Alter_inplace_info* info) {
  auto* job = new (ha_thd()->mem_root) AlterJob(table, altered_table, info, part_->share());
  if (job == nullptr) return HA_ALTER_ERROR;
  info->handler_ctx = job;
  return job->Check();
}

bool ha_rowan::prepare_inplace_alter_table(TABLE*, Alter_inplace_info* info, const dd::Table*,
                                           dd::Table*) {
  return static_cast<AlterJob*>(info->handler_ctx)->Prepare();
}

bool ha_rowan::inplace_alter_table(TABLE*, Alter_inplace_info* info, const dd::Table*, dd::Table*) {
  return static_cast<AlterJob*>(info->handler_ctx)->Build();
}

bool ha_rowan::commit_inplace_alter_table(TABLE*, Alter_inplace_info* info, bool commit,
                                          const dd::Table* old_def, dd::Table* new_def) {
  auto* job = static_cast<AlterJob*>(info->handler_ctx);
  if (commit) return job->Finish(*old_def, new_def);
  if (job != nullptr) job->Undo();
  return false;
}

}  // namespace rowan
