// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/handlerton.h"

#include <algorithm>
#include <string>

#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/handler.h"
#include "sql/mysqld.h"
#include "sql/sql_class.h"
#include "sql/sql_partition.h"
#include "sql/sql_plugin_ref.h"

#include "base/format.h"
#include "base/logging.h"
#include "engine/engine.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/ha_rowan.h"
#include "plugin/handler/transport_rows.h"
#include "plugin/partition/ha_rowan_part.h"
#include "plugin/pushdown/push_to_engine.h"
#include "plugin/server/binlog_carrier.h"
#include "plugin/server/binlog_restore.h"
#include "plugin/server/clone_guard.h"
#include "plugin/server/coordinator.h"
#include "plugin/server/dictionary_tables.h"
#include "plugin/server/in_doubt.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/lock_wait_hooks.h"
#include "plugin/server/log_sink.h"
#include "plugin/server/log_status.h"
#include "plugin/server/scan_workers.h"
#include "plugin/server/schema_plugins.h"
#include "plugin/server/session_statement.h"
#include "plugin/server/sql_functions.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/table_statistics.h"
#include "plugin/server/thd_context.h"

namespace rowan {

handlerton* g_hton = nullptr;
Engine* g_engine = nullptr;

namespace {

/// Of files next to the server's own, which DROP DATABASE removes.
const char* kFileExtensions[] = {kExportExtension, kUnfinishedExportExtension, nullptr};

handler* CreateHandler(handlerton* hton, TABLE_SHARE* share, bool partitioned, MEM_ROOT* mem_root) {
  if (!partitioned) return new (mem_root) ha_rowan(hton, share);
  auto* created = new (mem_root) ha_rowan_part(hton, share);
  if (created == nullptr || !created->init_partitioning(mem_root)) return created;
  ::destroy_at(created);
  return nullptr;
}

uint PartitionFlags() { return HA_CAN_EXCHANGE_PARTITION | HA_CANNOT_PARTITION_FK; }

bool ShowStatus(handlerton*, THD* thd, stat_print_fn* print, ha_stat_type type) {
  if (type != HA_ENGINE_STATUS) {
    push_warning(thd, Sql_condition::SL_NOTE, ER_NOT_SUPPORTED_YET,
                 "Rowan has no MUTEX and LOGS of its own: waits for latches and the state of the "
                 "log are in SHOW ENGINE ROWAN STATUS and INFORMATION_SCHEMA.ROWAN_METRICS");
    return false;
  }
  const std::string report = g_engine->StatusReport();
  return print(thd, "ROWAN", 5, "", 0, report.data(), report.size());
}

// The server's serialized definitions: it would write one file per table next to the engine's,
// outside of any transaction, which a crash would leave. The engine's catalog has what opening a
// table needs, and such a file could not be imported.
bool DropDefinitionCopy(const dd::Tablespace&, const dd::Table*, const sdi_key_t*) { return false; }
bool KeepDefinitionCopy(handlerton*, const dd::Tablespace&, const dd::Table*, const sdi_key_t*,
                        const void*, uint64) {
  return false;
}
bool GetDefinitionCopy(const dd::Tablespace&, const sdi_key_t*, void*, uint64*) { return true; }

/// After a DDL statement's commit or rollback.
void PostDdl(THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context != nullptr) context->session->FinishDdl();
  CloseTransportedTable(thd);
}

/// The coordinator has resolved every prepared transaction.
void PostRecover() {
  const Status status = g_engine->RemoveOrphanFiles();
  if (!status.ok()) {
    LogWarning("Files left over from a crash could not be removed: {}.", status.message());
  }
  InstallNewSchemaPlugins();
  ObserveBinlog();
}

/// XA transactions that are prepared, in a session or without one.
size_t CountPrepared() {
  const std::vector<TxnInfo> transactions = g_engine->Transactions();
  return static_cast<size_t>(
      std::count_if(transactions.begin(), transactions.end(),
                    [](const TxnInfo& info) { return info.state == TxnState::kPrepared; }));
}

/// A folder without an instance is right at the first start. Later it is a mistake in the settings
/// or a lost disk: then the dictionary has tables whose rows a new instance would not have.
/// `*given_up`: what is to be said of them once there is one all the same.
Result<uint64_t> CheckNothingIsMissing(const std::string& folder, std::string* given_up) {
  Result<DictionaryTables> tables = TablesInDictionary();
  if (!tables.ok()) return tables.status();
  if (tables->names.empty()) return uint64_t{0};
  const size_t count = tables->names.size();
  if (NewInstanceWanted()) {
    *given_up = Format(
        "The Rowan tables in the server's dictionary ({}, among them '{}') are given up: a "
        "new instance was created in '{}', as rowan_new_instance asks. DROP TABLE removes "
        "what is left of them.",
        count, tables->names.front(), folder);
    return tables->id_max + 1;
  }
  LogError(
      "The folder '{}' holds no Rowan instance, but the server's dictionary has Rowan tables "
      "({}, among them '{}'). Bring the folder back or correct rowan_data_home_dir. To give "
      "these tables up and begin with an empty instance, start once with "
      "rowan_new_instance=ON. Nothing was created.",
      folder, count, tables->names.front());
  return Status(Code::kInvalidArgument, "the instance is missing");
}

Status StartEngine() {
  EngineOptions options;
  const Status status = OptionsFromVariables(&options);
  if (!status.ok()) return status;
  std::string given_up;
  options.before_creation = [&] {
    return CheckNothingIsMissing(options.storage.folder, &given_up);
  };
  options.settle_carried = RestoreBinlogTail;
  options.txns.shutdown_sign = [] { return connection_events_loop_aborted(); };
  options.txns.wait_hooks = ServerLockWaitHooks();
  options.statement_of_thread = StatementOfThread;
  RegisterInstruments();
  Result<std::unique_ptr<Engine>> opened = Engine::Open(options);
  if (!opened.ok()) return opened.status();
  g_engine = std::move(opened).value().release();
  if (!given_up.empty()) LogWarning("{}", given_up);
  StartScanWorkers(ParallelWorkersMax());
  ShowSettingsInForce();
  AccountMemory(MemoryUse::kBufferPool, g_engine->Figures().pool_bytes());
  AccountMemory(MemoryUse::kLogBuffer, g_engine->options().storage.log.buffer_bytes);
  return Status::Ok();
}

void StopEngine() {
  StopScanWorkers();
  // A failure has been logged; the next start recovers.
  g_engine->Close(ShutdownLimitNanos()).Ignore();
  delete g_engine;
  g_engine = nullptr;
  ForgetInstruments();
  ForgetLockWaits();
}

/// Agrees with the server's transaction coordinator about the past and the future.
Status JoinCoordinator() {
  const bool at_run_time = InstalledAtRunTime();
  const Status status = ResolveInDoubt(g_engine, InDoubtPolicyFromVariable(), at_run_time);
  if (!status.ok()) return status;
  if (at_run_time && !EnsureLoggingCoordinator()) {
    return Status(Code::kIoError, "the server's coordinator log cannot be opened");
  }
  if (at_run_time && !ShowPreparedToServer()) {
    LogWarning(
        "Prepared XA transactions of an earlier run can be committed or rolled back only "
        "after the next restart of the server.");
  }
  return status;
}

Status StartAndJoin() {
  const Status started = StartEngine();
  if (!started.ok()) return started;
  const Status joined = JoinCoordinator();
  if (!joined.ok()) StopEngine();
  return joined;
}

}  // namespace

int InitializeEngine(void* hton_pointer) {
  auto* hton = static_cast<handlerton*>(hton_pointer);
  if (!OpenLogSink()) return 1;
  const Status status = StartAndJoin();
  if (!status.ok()) {
    LogError("Rowan does not start: {}.", status.message());
    CloseLogSink();
    return 1;
  }
  g_hton = hton;
  hton->state = SHOW_OPTION_YES;
  hton->db_type = DB_TYPE_UNKNOWN;
  hton->flags = HTON_CAN_RECREATE | HTON_SUPPORTS_EXTENDED_KEYS | HTON_SUPPORTS_ATOMIC_DDL |
                HTON_SUPPORTS_GENERATED_INVISIBLE_PK | HTON_SUPPORTS_SECONDARY_ENGINE;
  hton->create = CreateHandler;
  hton->partition_flags = PartitionFlags;
  hton->file_extensions = kFileExtensions;
  hton->show_status = ShowStatus;
  hton->post_ddl = PostDdl;
  hton->sdi_set = KeepDefinitionCopy;
  hton->sdi_get = GetDefinitionCopy;
  hton->sdi_delete = DropDefinitionCopy;
  hton->post_recover = PostRecover;
  hton->push_to_engine = PushToEngine;
  SetForeignKeyHooks(hton);
  SetStatisticsHooks(hton);
  SetTransactionHooks(hton);
  SetTwoPhaseHooks(hton);
  SetLogStatusHooks(hton);
  if (RegisterFunctions()) {
    PutUpCloneGuard();
    if (InstalledAtRunTime()) InstallSchemaPlugins();
    return 0;
  }
  DeinitializeEngine(nullptr);
  return 1;
}

namespace {

bool IsDefaultIn(const System_variables& variables, const st_plugin_int* plugin) {
  for (const plugin_ref engine : {variables.table_plugin, variables.temp_table_plugin}) {
    if (engine != nullptr && plugin_data<handlerton*>(engine) == plugin->data) return true;
  }
  return false;
}

/// The default engine setting, of those that can be checked, that names this engine; empty: none.
std::string WhoseDefault(const THD* thd, const st_plugin_int* plugin) {
  mysql_mutex_lock(&LOCK_global_system_variables);
  const bool is_global = IsDefaultIn(global_system_variables, plugin);
  mysql_mutex_unlock(&LOCK_global_system_variables);
  if (is_global) return "the global";
  return thd != nullptr && IsDefaultIn(thd->variables, plugin) ? "this session's" : "";
}

}  // namespace

int CheckUninstall(void* plugin) {
  ReleaseIdleContext(current_thd);
  StopCarryingBinlog();  // until the next group, if the plugin stays
  // No session can take hold of the plugin any more during this call. Removing it later, when the
  // last hold is given up, would leave it in a state in which the server ignores it: XA COMMIT
  // would report success and commit nothing.
  std::string users;
  if (const size_t prepared = CountPrepared(); prepared > 0) {
    users = "XA transactions are prepared (" + std::to_string(prepared) +
            "): commit them or roll them back.";
  } else if (auto* self = static_cast<st_plugin_int*>(plugin); self->ref_count > 0) {
    const std::string whose = WhoseDefault(current_thd, self);
    users = whose.empty() ? "Tables are open, or sessions have used it or have it as "
                            "default_storage_engine: close those sessions, and FLUSH TABLES."
                          : "It is " + whose +
                                " default_storage_engine or default_tmp_storage_engine: set these "
                                "to another engine.";
  } else if (CloneIsRunning()) {
    users = "A clone is running.";
  } else if (UnregisterFunctions()) {
    UninstallSchemaPlugins();
    return 0;
  } else {
    users = "A statement uses one of its functions.";
  }
  my_error(ER_PLUGIN_CANNOT_BE_UNINSTALLED, MYF(0), "ROWAN", users.c_str());
  return 1;
}

int DeinitializeEngine(void*) {
  if (g_engine == nullptr) return 0;
  TakeAwayCloneGuard();
  StopCarryingBinlog();
  UnregisterFunctions();  // at shutdown, when they cannot be called any more
  StopEngine();
  g_hton = nullptr;
  CloseLogSink();
  return 0;
}

}  // namespace rowan
