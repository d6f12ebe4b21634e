// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/binlog_carrier.h"

#include <atomic>
#include <string>
#include <utility>

#include "my_dir.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/binlog.h"
#include "sql/handler.h"
#include "sql/mysqld.h"
#include "sql/replication.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_plugin_ref.h"

#include "base/logging.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "plugin/server/binlog_files.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// A file as the kernel knows it: one that RESET BINARY LOGS makes may have the name of another.
struct FileIdentity {
  uint64_t device = 0;
  uint64_t inode = 0;
  bool operator==(const FileIdentity&) const = default;
};

struct Carrier {
  std::atomic<bool> observes{false};
  std::atomic<Lsn> end{kNoLsn};  ///< of what was logged; stored under the mutex

  Mutex mutex{LatchRank::kBinlogCarrier};
  bool deferred ROWAN_GUARDED_BY(mutex) = false;  ///< the group's flush_logs did not sync
  bool refused ROWAN_GUARDED_BY(mutex) = false;   ///< it was logged why nothing is carried
  std::string path ROWAN_GUARDED_BY(mutex);       ///< of the file that is carried
  FileIdentity identity ROWAN_GUARDED_BY(mutex);
};
Carrier g_carrier;

bool Identify(const char* path, FileIdentity* identity) {
  MY_STAT status{};
  if (my_stat(path, &status, MYF(0)) == nullptr) return false;
  *identity = {static_cast<uint64_t>(status.st_dev), static_cast<uint64_t>(status.st_ino)};
  return true;
}

bool IsWanted() {
  return BinlogInRedoMode() != BinlogInRedo::kOff && sync_binlog_period == 0 &&
         mysql_bin_log.is_open();
}

int Outcome(const Status& status) {
  if (status.ok()) return 0;
  LogError("The binary log could not be made durable with the redo log: {}.", status.message());
  return 1;
}

Status MakeDurable(Lsn end) {
  return end > g_engine->durable_lsn() ? g_engine->WaitDurable(end) : Status::Ok();
}

bool CarriesNewest() ROWAN_REQUIRES(g_carrier.mutex) {
  const char* path = mysql_bin_log.get_log_fname();
  FileIdentity identity;
  return g_engine->carried_file()->carrying() && g_carrier.path == path &&
         Identify(path, &identity) && identity == g_carrier.identity;
}

Status BeginNewest() ROWAN_REQUIRES(g_carrier.mutex) {
  const std::string path = mysql_bin_log.get_log_fname();
  FileIdentity identity;
  if (!g_carrier.observes.load()) return Status(Code::kUnsupported, "the server has no hook");
  if (!Identify(path.c_str(), &identity)) return Status(Code::kIoError, "no file");
  const Result<uint32_t> mark = MarkOfBinlog(path);
  if (!mark.ok()) return mark.status();
  const Status status = g_engine->carried_file()->Begin(path, mark.value());
  if (!status.ok()) return status;
  g_carrier.path = path;
  g_carrier.identity = identity;
  return status;
}

/// True: the newest file is carried. If it cannot be, that is logged once.
bool CarryNewest() ROWAN_REQUIRES(g_carrier.mutex) {
  if (CarriesNewest()) return true;
  const Status status = BeginNewest();
  if (!status.ok() && !g_carrier.refused) {
    LogWarning("The binary log is synced by itself, in spite of rowan_binlog_in_redo: {} ({}).",
               status.message(), mysql_bin_log.get_log_fname());
  }
  g_carrier.refused = !status.ok();
  return status.ok();
}

/// Under LOCK_log: the server is at the end of the newest file.
int AfterFlush(Binlog_storage_param*, const char*, my_off_t) {
  const MutexLock lock(&g_carrier.mutex);
  CarriedFile* file = g_engine->carried_file();
  const bool deferred = std::exchange(g_carrier.deferred, false);
  if (!CarriesNewest()) {
    if (!deferred && !IsWanted()) return 0;
    // Either makes the group durable.
    return CarryNewest() ? 0 : Outcome(file->SyncUncarried(mysql_bin_log.get_log_fname()));
  }
  const Result<Lsn> end = file->LogAppended();
  if (!end.ok()) return Outcome(end.status());
  g_carrier.end.store(end.value(), std::memory_order_release);
  const bool later = BinlogInRedoMode() == BinlogInRedo::kEarlySend;
  return later ? 0 : Outcome(MakeDurable(end.value()));
}

/// Before the engines commit: of their group at least.
int AfterSync(Binlog_storage_param*, const char*, my_off_t) {
  return Outcome(MakeDurable(g_carrier.end.load(std::memory_order_acquire)));
}

Binlog_storage_observer g_observer = {sizeof(Binlog_storage_observer), AfterFlush, AfterSync};

void Register() {
  if (g_carrier.observes.load()) return;
  // A second registration would be refused.
  register_binlog_storage_observer(&g_observer, hton2plugin(g_hton->slot));
  g_carrier.observes.store(true);
}

/// The calling thread leads a group of the binary log, so it holds LOCK_log and the hook follows:
/// not one that rotates the log, nor one of a replica that only keeps the order of commits. Some
/// that lead one are not recognised.
bool LeadsGroup(THD* thd) {
  return thd != nullptr && thd->tx_commit_pending &&
         (GoesToBinlog(thd, Transaction_ctx::SESSION) || GoesToBinlog(thd, Transaction_ctx::STMT));
}

}  // namespace

bool GoesToBinlog(THD* thd, Transaction_ctx::enum_trx_scope scope) {
  for (const Ha_trx_info& part : thd->get_transaction()->ha_trx_info(scope)) {
    if (part.ht()->db_type == DB_TYPE_BINLOG) return true;
  }
  return false;
}

bool DefersToBinlog(THD* thd) {
  CarriedFile* file = g_engine->carried_file();
  if (file == nullptr || !LeadsGroup(thd)) return false;
  const bool wanted = IsWanted();
  if (wanted) Register();  // whoever holds the hooks' lock does not wait for LOCK_log
  const MutexLock lock(&g_carrier.mutex);
  if (!wanted) {
    Outcome(file->End());
    return false;
  }
  // A replica that logs nothing has transactions whose commit ends with this call.
  g_carrier.deferred = CarryNewest() && opt_log_replica_updates;
  return g_carrier.deferred;
}

void ObserveBinlog() {
  if (BinlogInRedoMode() != BinlogInRedo::kOff && g_engine->carried_file() != nullptr) Register();
}

void WarnIfBinlogIsSynced(THD* thd) {
  if (BinlogInRedoMode() == BinlogInRedo::kOff || sync_binlog_period == 0) return;
  push_warning_printf(thd, Sql_condition::SL_WARNING, ER_WRONG_VALUE_FOR_VAR,
                      "rowan_binlog_in_redo acts only with sync_binlog = 0, which is %u",
                      sync_binlog_period);
}

void EndCarryingBinlog() {
  if (!g_carrier.observes.load()) return;
  const MutexLock lock(&g_carrier.mutex);
  Outcome(g_engine->carried_file()->End());
}

void EndCarryingClosedBinlog() {
  if (g_carrier.observes.load() && !mysql_bin_log.is_open()) EndCarryingBinlog();
}

void StopCarryingBinlog() {
  if (!g_carrier.observes.load()) return;
  // Not under the mutex, for which a hook may be waiting.
  unregister_binlog_storage_observer(&g_observer, hton2plugin(g_hton->slot));
  EndCarryingBinlog();
  g_carrier.observes.store(false);
  g_carrier.end.store(kNoLsn);
}

}  // namespace rowan
