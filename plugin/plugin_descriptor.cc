// SPDX-License-Identifier: GPL-2.0-only
// What the server finds in ha_rowan.so: the storage engine and its INFORMATION_SCHEMA tables.
#include "plugin/server/abi_guard.h"

#include "mysql/plugin.h"

#include "plugin/handlerton.h"
#include "plugin/server/information_schema.h"
#include "plugin/server/status_variables.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// The project's, as the server shows it: major, minor.
constexpr unsigned int kVersion = ROWAN_VERSION_MAJOR << 8 | ROWAN_VERSION_MINOR;
constexpr const char* kAuthor = "The Rowan authors";

st_mysql_storage_engine g_engine_info = {MYSQL_HANDLERTON_INTERFACE_VERSION};
st_mysql_information_schema g_schema_info = {MYSQL_INFORMATION_SCHEMA_INTERFACE_VERSION};

/// A table of INFORMATION_SCHEMA.
constexpr st_mysql_plugin SchemaTable(const char* name, const char* description,
                                      int (*initialize)(MYSQL_PLUGIN)) {
  return {MYSQL_INFORMATION_SCHEMA_PLUGIN,
          &g_schema_info,
          name,
          kAuthor,
          description,
          PLUGIN_LICENSE_GPL,
          initialize,
          nullptr,
          DeinitializeTable,
          kVersion,
          nullptr,
          nullptr,
          nullptr,
          0};
}

}  // namespace
}  // namespace rowan

// In the global namespace: the loader looks these names up unmangled.
using namespace rowan;
mysql_declare_plugin(rowan){
    MYSQL_STORAGE_ENGINE_PLUGIN,
    &g_engine_info,
    "ROWAN",
    kAuthor,
    "Transactions, row locks, index-only scans at every isolation level",
    PLUGIN_LICENSE_GPL,
    InitializeEngine,
    CheckUninstall,
    DeinitializeEngine,
    kVersion,
    g_status_variables,
    g_system_variables,
    nullptr,
    0,
},
    SchemaTable("ROWAN_TRX", "Writing and prepared Rowan transactions", InitializeTrxTable),
    SchemaTable("ROWAN_LOCKS", "Explicit row locks of Rowan transactions", InitializeLocksTable),
    SchemaTable("ROWAN_LOCK_WAITS", "Who waits for whose row lock", InitializeLockWaitsTable),
    SchemaTable("ROWAN_SYNC_LATENCY",
                "Latency of writes, syncs and commits of the Rowan log, by method",
                InitializeSyncLatencyTable),
    SchemaTable("ROWAN_TABLES", "Rowan tables: place and size", InitializeTablesTable),
    SchemaTable("ROWAN_INDEXES", "Indexes of Rowan tables: place and size", InitializeIndexesTable),
    SchemaTable("ROWAN_BUFFER_POOL", "Pages in the Rowan buffer pool, by table",
                InitializeBufferPoolTable),
    SchemaTable("ROWAN_METRICS", "Figures and counters of Rowan with unit and meaning",
                InitializeMetricsTable) mysql_declare_plugin_end;
