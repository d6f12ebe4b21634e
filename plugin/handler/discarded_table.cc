// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handler/discarded_table.h"

#include "my_base.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/dd/properties.h"
#include "sql/derror.h"
#include "sql/handler.h"
#include "sql/sql_alter.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_lex.h"
#include "sql/table.h"

#include "plugin/handler/partition_names.h"
#include "plugin/handler/table_share.h"

namespace rowan {
namespace {

constexpr const char* kDiscardedProperty = "rowan_discarded";
constexpr const char* kCounterLostProperty = "rowan_counter_lost";

}  // namespace

bool IsDiscarded(const dd::Properties& properties) { return properties.exists(kDiscardedProperty); }

void SetDiscarded(bool discarded, dd::Properties* properties) {
  if (discarded) {
    properties->set(kDiscardedProperty, true);
  } else {
    properties->remove(kDiscardedProperty);
    properties->remove(kCounterLostProperty);
  }
}

bool IsCounterLost(const dd::Properties& properties) {
  return properties.exists(kCounterLostProperty);
}

void SetCounterLost(dd::Properties* properties) { properties->set(kCounterLostProperty, true); }

bool MayUseDiscarded(const THD* thd) {
  switch (thd_sql_command(thd)) {
    case SQLCOM_ALTER_TABLE:
      // CHECK PARTITION and the like are not changes, except TRUNCATE.
      return (thd->lex->alter_info->flags &
              (Alter_info::ALTER_ADMIN_PARTITION | Alter_info::ALTER_TRUNCATE_PARTITION)) !=
             Alter_info::ALTER_ADMIN_PARTITION;
    case SQLCOM_LOCK_TABLES:
    case SQLCOM_CREATE_INDEX:
    case SQLCOM_DROP_INDEX:
    case SQLCOM_CREATE_TRIGGER:
    case SQLCOM_DROP_TRIGGER: return true;
    default: return false;
  }
}

bool LeavesDiscardedRows(unsigned long long changes) {
  using Changes = Alter_inplace_info;
  constexpr Changes::HA_ALTER_FLAGS kLeaveRows =
      Changes::ADD_INDEX | Changes::ADD_UNIQUE_INDEX | Changes::ADD_SPATIAL_INDEX |
      Changes::DROP_INDEX | Changes::DROP_UNIQUE_INDEX | Changes::RENAME_INDEX |
      Changes::ALTER_INDEX_COMMENT | Changes::CHANGE_INDEX_OPTION | Changes::ALTER_COLUMN_NAME |
      Changes::ALTER_COLUMN_DEFAULT | Changes::ALTER_COLUMN_VISIBILITY |
      Changes::CHANGE_CREATE_OPTION | Changes::ALTER_RENAME | Changes::ADD_CHECK_CONSTRAINT |
      Changes::DROP_CHECK_CONSTRAINT | Changes::SUSPEND_CHECK_CONSTRAINT |
      Changes::ADD_FOREIGN_KEY | Changes::DROP_FOREIGN_KEY;
  return (changes & ~kLeaveRows) == 0;
}

void NoteDiscarded(THD* thd, const char* table) {
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_TABLESPACE_MISSING,
                      ER_THD(thd, ER_TABLESPACE_MISSING), table);
}

void CloseTransportedTable(THD* thd) {
  if (thd->locked_tables_mode == LTM_NONE || thd_tablespace_op(thd) == 0) return;
  Table_ref* const reference = thd->lex->query_tables;
  if (reference == nullptr || reference->table == nullptr ||
      reference->table->s->tmp_table != NO_TMP_TABLE) {
    return;
  }
  close_all_tables_for_name(thd, reference->table->s, false, nullptr);
  reference->table = nullptr;
}

std::string NameForUsers(const TABLE_SHARE& table, const Table& engine_table) {
  const std::string partition = PartitionInName(engine_table.name());
  return std::string("`") + table.db.str + "`.`" + table.table_name.str + "`" +
         (partition.empty() ? "" : " partition " + partition);
}

int RefuseUnreadable(const TableShare& share, const TABLE_SHARE& table) {
  if (share.discarded()) return RefuseDiscarded(table.table_name.str);
  if (!share.lost().Is(Code::kIoError)) {
    my_error(ER_TABLE_CORRUPT, MYF(0), table.db.str, table.table_name.str);
    return HA_ERR_TABLE_CORRUPT;
  }
  my_error(ER_TABLESPACE_MISSING, MYF(0), NameForUsers(table, *share.table()).c_str());
  return HA_ERR_TABLESPACE_MISSING;
}

int RefuseDiscarded(const char* table) {
  my_error(ER_TABLESPACE_DISCARDED, MYF(0), table);
  return HA_ERR_TABLESPACE_MISSING;
}

int CheckUsable(const Table& engine_table, bool writes) {
  if (engine_table.dropped.load(std::memory_order_acquire)) return HA_ERR_TABLE_DEF_CHANGED;
  if (!engine_table.damaged.load(std::memory_order_relaxed)) return 0;
  const bool readable = engine_table.readable.load(std::memory_order_relaxed) && !writes;
  return readable ? 0 : HA_ERR_TABLE_CORRUPT;
}

}  // namespace rowan
