// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/schema_plugins.h"

#include <dlfcn.h>

#include <iterator>
#include <string>
#include <vector>

#include "my_thread.h"
#include "mysql/plugin.h"
#include "mysql/psi/mysql_mutex.h"
#include "sql/field.h"
#include "sql/handler.h"
#include "sql/key.h"
#include "sql/sql_base.h"
#include "sql/sql_class.h"
#include "sql/sql_plugin.h"
#include "sql/sql_thd_internal_api.h"
#include "sql/statement/ed_connection.h"
#include "sql/table.h"

#include "base/function_ref.h"
#include "base/logging.h"
#include "base/start_thread.h"

/// Held by INSTALL PLUGIN and UNINSTALL PLUGIN from before the plugin's own functions are called
/// until the statement ends. No header of the server declares it.
extern mysql_mutex_t LOCK_plugin_install;

/// Nor this.
SHOW_COMP_OPTION plugin_status(const char* name, size_t size, int type);

/// What plugin_descriptor.cc declares to the server; ends with one that has no info.
extern "C" st_mysql_plugin _mysql_plugin_declarations_[];

namespace rowan {
namespace {

/// Another session may wait for a lock that the statement around this one holds (FLUSH TABLES WITH
/// READ LOCK, LOCK INSTANCE FOR BACKUP), which the server would admit first.
constexpr unsigned long kLockWaitSeconds = 3;

/// Tables of the dictionary that the server opens to describe a table of INFORMATION_SCHEMA, some
/// of them while it holds the list of plugins. Unless they are in its cache it then asks that list
/// for their engine, and waits for itself forever.
constexpr const char* kDictionaryTables[] = {"catalogs",
                                             "check_constraints",
                                             "column_type_elements",
                                             "columns",
                                             "foreign_key_column_usage",
                                             "foreign_keys",
                                             "index_column_usage",
                                             "index_partitions",
                                             "indexes",
                                             "schemata",
                                             "table_partition_values",
                                             "table_partitions",
                                             "tables",
                                             "triggers",
                                             "view_routine_usage",
                                             "view_table_usage"};

/// Keeps them open, in a session of its own: no FLUSH TABLES takes them out of the cache.
class DictionaryTablesOpen {
 public:
  DictionaryTablesOpen() : thd_(create_internal_thd()) {
    tables_.reserve(std::size(kDictionaryTables));
    for (const char* name : kDictionaryTables) {
      Table_ref* former = tables_.empty() ? nullptr : &tables_.back();
      tables_.emplace_back("mysql", name, TL_READ);
      if (former != nullptr) former->next_local = former->next_global = &tables_.back();
    }
    open_ = !open_trans_system_tables_for_read(thd_, tables_.data());
    if (!open_) LogWarning("Tables of the server's dictionary cannot be opened.");
  }
  DictionaryTablesOpen(const DictionaryTablesOpen&) = delete;
  DictionaryTablesOpen& operator=(const DictionaryTablesOpen&) = delete;
  ~DictionaryTablesOpen() {
    thd_->store_globals();
    if (open_) close_trans_system_tables(thd_);
    destroy_internal_thd(thd_);
  }
  [[nodiscard]] bool open() const { return open_; }

 private:
  THD* const thd_;
  std::vector<Table_ref> tables_;
  bool open_ = false;
};

/// Statements in a session of the server's own, with all privileges and nothing in the binlog.
/// In a thread of its own, because the caller's belongs to another session.
class ServerStatements {
 public:
  ServerStatements() : thd_(create_internal_thd()) {
    thd_->variables.lock_wait_timeout = kLockWaitSeconds;
    thd_->variables.option_bits &= ~OPTION_BIN_LOG;
  }
  ServerStatements(const ServerStatements&) = delete;
  ServerStatements& operator=(const ServerStatements&) = delete;
  ~ServerStatements() { destroy_internal_thd(thd_); }

  /// False, with a warning in the error log, if it failed.
  bool Run(const std::string& statement) {
    Ed_connection connection(thd_);
    std::string text = statement;
    if (connection.execute_direct({text.data(), text.size()})) {
      LogWarning("'{}' failed: {} (error {}).", statement, connection.get_last_error(),
                 connection.get_last_errno());
      return false;
    }
    return true;
  }

  /// The server is to load this plugin at each start. Without a statement: nothing can be optimized
  /// yet when a start asks.
  bool Remembers(const std::string& plugin) {
    Table_ref tables("mysql", "plugin", TL_READ);
    if (open_trans_system_tables_for_read(thd_, &tables)) return false;
    TABLE* table = tables.table;
    table->use_all_columns();
    table->field[0]->store(plugin.data(), plugin.size(), system_charset_info);
    uchar key[MAX_KEY_LENGTH];
    key_copy(key, table->record[0], table->key_info, table->key_info->key_length);
    const int missing = table->file->ha_index_read_idx_map(table->record[0], 0, key, HA_WHOLE_KEY,
                                                           HA_READ_KEY_EXACT);
    close_trans_system_tables(thd_);
    return missing == 0;
  }

 private:
  THD* const thd_;
};

void InOwnSession(FunctionRef<void(ServerStatements* statements)> work) {
  Result<std::thread> thread = StartThread([&work] {
    if (my_thread_init()) return;
    {
      const DictionaryTablesOpen dictionary;
      ServerStatements statements;
      if (dictionary.open()) work(&statements);
    }
    my_thread_end();
  });
  if (thread.ok()) {
    thread->join();
  } else {
    LogWarning("Rowan's tables of information_schema stay as they are: {}.",
               thread.status().message());
  }
}

/// Lets the statements of another session through that the statement around this one would keep
/// waiting for as long as it waits for them. What the lock protects is whole at this moment: the
/// plugin is in the server's list, as one that is not initialised yet or is about to go, which no
/// other statement touches.
class OtherInstallationsAllowed {
 public:
  OtherInstallationsAllowed() { mysql_mutex_unlock(&LOCK_plugin_install); }
  OtherInstallationsAllowed(const OtherInstallationsAllowed&) = delete;
  OtherInstallationsAllowed& operator=(const OtherInstallationsAllowed&) = delete;
  ~OtherInstallationsAllowed() { mysql_mutex_lock(&LOCK_plugin_install); }
};

std::vector<std::string> SchemaPlugins(SHOW_COMP_OPTION status) {
  std::vector<std::string> names;
  for (const st_mysql_plugin* plugin = _mysql_plugin_declarations_; plugin->info != nullptr;
       ++plugin) {
    if (plugin->type != MYSQL_INFORMATION_SCHEMA_PLUGIN) continue;
    const std::string name = plugin->name;
    if (plugin_status(name.data(), name.size(), plugin->type) == status) names.push_back(name);
  }
  return names;
}

/// The library's file name in the server's folder of plugins.
std::string LibraryName() {
  Dl_info info;
  if (dladdr(&_mysql_plugin_declarations_, &info) == 0) return "ha_rowan.so";
  const std::string path = info.dli_fname;
  return path.substr(path.rfind('/') + 1);
}

void Install(ServerStatements* statements, const std::vector<std::string>& names) {
  const std::string library = LibraryName();
  for (const std::string& name : names) {
    // What stopped one (a read-only server, a lock) would stop the others.
    if (!statements->Run("INSTALL PLUGIN " + name + " SONAME '" + library + "'")) return;
  }
}

}  // namespace

void InstallSchemaPlugins() {
  const std::vector<std::string> missing = SchemaPlugins(SHOW_OPTION_NO);
  if (missing.empty()) return;
  const OtherInstallationsAllowed allowed;
  InOwnSession([&](ServerStatements* statements) { Install(statements, missing); });
}

void InstallNewSchemaPlugins() {
  const std::vector<std::string> missing = SchemaPlugins(SHOW_OPTION_NO);
  if (missing.empty()) return;
  InOwnSession([&](ServerStatements* statements) {
    if (statements->Remembers("rowan")) Install(statements, missing);
  });
}

void UninstallSchemaPlugins() {
  const std::vector<std::string> present = SchemaPlugins(SHOW_OPTION_YES);
  if (present.empty()) return;
  const OtherInstallationsAllowed allowed;
  InOwnSession([&](ServerStatements* statements) {
    for (const std::string& name : present) statements->Run("UNINSTALL PLUGIN " + name);
  });
}

}  // namespace rowan
