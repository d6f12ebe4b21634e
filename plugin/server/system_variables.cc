// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/system_variables.h"

#include <algorithm>
#include <bit>
#include <chrono>
#include <climits>
#include <string>
#include <thread>

#include "mysql/plugin.h"
#include "sql/mysqld.h"
#include "typelib.h"

#include "base/logging.h"
#include "base/mutex.h"
#include "base/page_size.h"
#include "engine/engine.h"
#include "plugin/server/binlog_carrier.h"
#include "plugin/server/instance.h"
#include "plugin/server/instruments.h"
#include "plugin/server/scan_workers.h"
#include "plugin/server/variable_changes.h"

// Settings of the built-in InnoDB that apply to row locks of both engines.
std::chrono::seconds thd_lock_wait_timeout(THD* thd);
extern bool row_rollback_on_timeout;

namespace rowan {
namespace {

// Defaults and limits are those of the components.
constexpr LogOptions kLog;
constexpr BufferOptions kBuffer;
constexpr TxnManagerOptions kTxns;
constexpr PurgeOptions kPurge;

unsigned long long g_buffer_pool_size;
unsigned int g_page_size;
unsigned long long g_redo_log_capacity;
unsigned long long g_log_buffer_size;
unsigned int g_io_capacity;
unsigned long long g_scrub_rate;
unsigned long long g_lock_memory;
unsigned int g_purge_threads;
unsigned long long g_max_purge_lag;
unsigned int g_page_cleaners;
unsigned int g_parallel_workers_max;
unsigned int g_force_recovery;
/// Its levels; each does what those below it do. docs/force_recovery.md
constexpr unsigned int kForceReadable = 1;
constexpr unsigned int kForceNoPurge = 2;
constexpr unsigned int kForceNoRollback = 3;
constexpr unsigned int kForceReadOnly = 4;
unsigned int g_shutdown_timeout;
unsigned long long g_online_alter_log_max_size;
unsigned int g_autoinc_lock_mode;
unsigned long g_log_sync_method;
unsigned long g_data_sync_method;
unsigned long g_doublewrite;
unsigned long g_io_backend;
unsigned long g_in_doubt;
bool g_deadlock_detect;
bool g_new_instance;
unsigned long g_binlog_in_redo;
char* g_data_home_dir;

// Position in the list = value of the variable.
const char* const kLogSyncNames[] = {"auto",         "fsync", "fdatasync", "dsync",
                                     "direct_dsync", "uring", nullptr};
const char* const kDataSyncNames[] = {"auto", "fsync", "fdatasync", nullptr};
const char* const kDoublewriteNames[] = {"off", "on", "detect_only", "atomic", nullptr};
const char* const kIoBackendNames[] = {"auto", "uring", "libaio", "threads", nullptr};
const char* const kSerializableNames[] = {"locking", "optimistic", nullptr};
const char* const kBinlogInRedoNames[] = {"off", "on", "early_send", nullptr};
const char* const kInDoubtNames[] = {"refuse", "commit", "rollback", nullptr};

TYPELIB MakeTypelib(const char* const* names, size_t count) {
  return TYPELIB{count, "", const_cast<const char**>(names), nullptr};
}
TYPELIB g_log_sync_types = MakeTypelib(kLogSyncNames, 6);
TYPELIB g_data_sync_types = MakeTypelib(kDataSyncNames, 3);
TYPELIB g_doublewrite_types = MakeTypelib(kDoublewriteNames, 4);
TYPELIB g_io_backend_types = MakeTypelib(kIoBackendNames, 4);
TYPELIB g_binlog_in_redo_types = MakeTypelib(kBinlogInRedoNames, 3);
TYPELIB g_in_doubt_types = MakeTypelib(kInDoubtNames, 3);
TYPELIB g_serializable_types = MakeTypelib(kSerializableNames, 2);

LogSyncMethod LogSyncFromIndex(unsigned long index) { return static_cast<LogSyncMethod>(index); }
static_assert(static_cast<int>(LogSyncMethod::kUring) == 5);

SyncMethod DataSyncFromIndex(unsigned long index) {
  // fdatasync writes what is needed to read the data back, and never more than fsync: "auto".
  return index == 1 ? SyncMethod::kFsync : SyncMethod::kFdatasync;
}

DoublewriteMode DoublewriteFromIndex(unsigned long index) {
  switch (index) {
    case 0: return DoublewriteMode::kOff;
    case 2: return DoublewriteMode::kDetectOnly;
    case 3: return DoublewriteMode::kAtomic;
    default: return DoublewriteMode::kOn;
  }
}

IoBackend IoBackendFromIndex(unsigned long index) { return static_cast<IoBackend>(index); }
static_assert(static_cast<int>(IoBackend::kThreads) == 3);

MYSQL_THDVAR_BOOL(snapshot_isolation, PLUGIN_VAR_OPCMDARG,
                  "At REPEATABLE READ, locking or changing a row that was changed after the "
                  "transaction's snapshot was taken fails with error 1213 and rolls the "
                  "transaction back: no update is lost.",
                  nullptr, nullptr, false);

MYSQL_THDVAR_ENUM(serializable, PLUGIN_VAR_RQCMDARG,
                  "How transactions at SERIALIZABLE are kept serializable. locking: plain "
                  "SELECTs lock what they read. optimistic: they read a snapshot and block nobody "
                  "waiting; a transaction that could contradict others fails with error 1213, at "
                  "the latest at COMMIT. From the next transaction on.",
                  nullptr, nullptr, 0, &g_serializable_types);

Status ApplyBufferPool(unsigned long long bytes) {
  Status status = g_engine->SetBufferPoolBytes(bytes);
  // Shrinking waits for frames that are in use at the moment: a few passes empty them.
  for (int pass = 0; pass < 100 && status.Is(Code::kBusy); ++pass) {
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
    status = g_engine->SetBufferPoolBytes(bytes);
  }
  AccountMemory(MemoryUse::kBufferPool, g_engine->Figures().pool_bytes());
  return status;
}
/// The pool has whole pages.
unsigned long long PoolBytesInForce() { return g_engine->Figures().pool_bytes(); }
Status ApplyRedoCapacity(unsigned long long bytes) { return g_engine->SetRedoLogCapacity(bytes); }
/// The log rounds the request up to whole files; the variable shows what is in force.
int CheckRedoCapacity(THD* thd, SYS_VAR* variable, void* wanted, st_mysql_value* value) {
  const int failed = CheckNumber<unsigned long long, kLogCapacityLimits, ApplyRedoCapacity>(
      thd, variable, wanted, value);
  if (failed != 0) return failed;
  *static_cast<unsigned long long*>(wanted) = g_engine->Figures().log_capacity_bytes;
  return 0;
}
Status ApplyScrubRate(unsigned long long bytes_per_second) {
  g_engine->SetScrubRate(bytes_per_second);
  return Status::Ok();
}
void UpdateScanWorkers(THD*, SYS_VAR*, void* target, const void* wanted) {
  SetScanWorkersMax(*static_cast<const unsigned int*>(wanted));
  *static_cast<unsigned int*>(target) = ScanWorkersMax();
}
Status ApplyIoCapacity(unsigned int pages) {
  g_engine->SetIoCapacity(pages);
  return Status::Ok();
}
Status ApplyMaxPurgeLag(unsigned long long records) {
  g_engine->SetMaxPurgeLag(records);
  return Status::Ok();
}
Status ApplyLockMemory(unsigned long long bytes) {
  g_engine->SetLockMemory(bytes);
  return Status::Ok();
}
Status ApplyLogSync(unsigned long index) {
  // Asked twice for each SET; probing the disk twice for "auto" would take long.
  static Mutex mutex(LatchRank::kLogSyncSetting);
  static bool probed = false;  // guarded by mutex: "auto" chose what is in use
  const MutexLock lock(&mutex);
  const LogSyncMethod method = LogSyncFromIndex(index);
  const bool automatic = method == LogSyncMethod::kAuto;
  if (automatic ? probed : method == g_engine->Figures().log_sync_method) {
    probed = probed && automatic;
    return Status::Ok();
  }
  const Status status = g_engine->SetLogSyncMethod(method);
  if (!status.ok()) return status;
  probed = automatic;
  return Status::Ok();
}
Status ApplyDataSync(unsigned long index) {
  g_engine->SetDataSyncMethod(DataSyncFromIndex(index));
  return Status::Ok();
}
Status ApplyDoublewrite(unsigned long index) {
  return g_engine->SetDoublewrite(DoublewriteFromIndex(index));
}

int CheckBufferPool(THD* thd, SYS_VAR* variable, void* wanted, st_mysql_value* value) {
  const int failed = CheckNumber<unsigned long long, kPoolBytesLimits, ApplyBufferPool>(
      thd, variable, wanted, value);
  if (failed == 0) *static_cast<unsigned long long*>(wanted) = PoolBytesInForce();
  return failed;
}

void UpdateBinlogInRedo(THD* thd, SYS_VAR*, void* target, const void* wanted) {
  *static_cast<unsigned long*>(target) = *static_cast<const unsigned long*>(wanted);
  ObserveBinlog();
  WarnIfBinlogIsSynced(thd);
}

MYSQL_SYSVAR_ULONGLONG(buffer_pool_size, g_buffer_pool_size, PLUGIN_VAR_RQCMDARG,
                       "Memory for pages of Rowan tables, in bytes.", CheckBufferPool,
                       (UpdateTo<unsigned long long, ApplyBufferPool>), kBuffer.pool_bytes,
                       kPoolBytesLimits.least, kPoolBytesLimits.greatest, 0);
MYSQL_SYSVAR_UINT(page_size, g_page_size, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Page size in bytes, a power of two from 4096 to 65536. Chosen when the instance "
                  "is created.",
                  nullptr, nullptr, kPageSizeDefault, kPageSizeMin, kPageSizeMax, 0);
MYSQL_SYSVAR_ULONGLONG(redo_log_capacity, g_redo_log_capacity, PLUGIN_VAR_RQCMDARG,
                       "Most disk space the redo log takes, in bytes.", CheckRedoCapacity,
                       (UpdateTo<unsigned long long, ApplyRedoCapacity>), kLog.capacity_bytes,
                       kLogCapacityLimits.least, kLogCapacityLimits.greatest, 0);
MYSQL_SYSVAR_ULONGLONG(log_buffer_size, g_log_buffer_size,
                       PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                       "Memory for redo log bytes not written yet; rounded up to a power of two.",
                       nullptr, nullptr, kLog.buffer_bytes, kLogBufferLimits.least,
                       kLogBufferLimits.greatest, 0);
MYSQL_SYSVAR_ENUM(log_sync_method, g_log_sync_method, PLUGIN_VAR_RQCMDARG,
                  "How redo log bytes are made durable: auto, fsync, fdatasync, dsync, "
                  "direct_dsync, uring.",
                  (CheckEnum<&g_log_sync_types, ApplyLogSync>),
                  (UpdateTo<unsigned long, ApplyLogSync>), 0, &g_log_sync_types);
MYSQL_SYSVAR_ENUM(data_sync_method, g_data_sync_method, PLUGIN_VAR_RQCMDARG,
                  "How data files are made durable: auto (= fdatasync), fsync, fdatasync.",
                  (CheckEnum<&g_data_sync_types, ApplyDataSync>),
                  (UpdateTo<unsigned long, ApplyDataSync>), 0, &g_data_sync_types);
MYSQL_SYSVAR_ENUM(doublewrite, g_doublewrite, PLUGIN_VAR_RQCMDARG,
                  "Protection against torn pages: on, detect_only, atomic (disk writes whole "
                  "pages), off.",
                  (CheckEnum<&g_doublewrite_types, ApplyDoublewrite>),
                  (UpdateTo<unsigned long, ApplyDoublewrite>), 1, &g_doublewrite_types);
MYSQL_SYSVAR_ENUM(io_backend, g_io_backend, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Background reads and writes: auto, uring, libaio, threads.", nullptr, nullptr, 0,
                  &g_io_backend_types);
MYSQL_SYSVAR_UINT(io_capacity, g_io_capacity, PLUGIN_VAR_RQCMDARG,
                  "Page writes per second that background work may use.",
                  (CheckNumber<unsigned int, kIoCapacityLimits, ApplyIoCapacity>),
                  (UpdateTo<unsigned int, ApplyIoCapacity>), kBuffer.io_capacity_pages_per_second,
                  kIoCapacityLimits.least, kIoCapacityLimits.greatest, 0);
MYSQL_SYSVAR_ULONGLONG(scrub_bytes_per_second, g_scrub_rate, PLUGIN_VAR_RQCMDARG,
                       "How fast a background thread reads all pages from disk, over and over, to "
                       "find damage early; it rests while others keep the disk busy. 0: off.",
                       (CheckNumber<unsigned long long, kScrubRateLimits, ApplyScrubRate>),
                       (UpdateTo<unsigned long long, ApplyScrubRate>), kScrubRateDefault,
                       kScrubRateLimits.least, kScrubRateLimits.greatest, 0);
MYSQL_SYSVAR_ULONGLONG(lock_memory_size, g_lock_memory, PLUGIN_VAR_RQCMDARG,
                       "Most memory for row locks, in bytes; 0: a quarter of the buffer pool, at "
                       "least 256 MiB. Transactions with few locks are never refused.",
                       (CheckNumber<unsigned long long, kLockMemoryLimits, ApplyLockMemory>),
                       (UpdateTo<unsigned long long, ApplyLockMemory>), kTxns.lock_memory_bytes_max,
                       kLockMemoryLimits.least, kLockMemoryLimits.greatest, 0);
MYSQL_SYSVAR_UINT(shutdown_timeout, g_shutdown_timeout, PLUGIN_VAR_RQCMDARG,
                  "Seconds in which a shutdown writes changed pages. The redo log keeps what is "
                  "left for the next start, which redoes it while it serves. 0: all pages are "
                  "written, however long that takes.",
                  nullptr, nullptr, 3, 0, 86400, 0);
MYSQL_SYSVAR_ULONGLONG(online_alter_log_max_size, g_online_alter_log_max_size, PLUGIN_VAR_RQCMDARG,
                       "Most bytes of keys of rows that others change while an index is built or a "
                       "table rebuilt, kept in a scratch file until the ALTER has followed. "
                       "Beyond it the ALTER fails.",
                       nullptr, nullptr, 1ull << 30, 1ull << 16, ULLONG_MAX, 0);
MYSQL_SYSVAR_UINT(purge_threads, g_purge_threads, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Threads that remove old row versions.", nullptr, nullptr, kPurge.workers,
                  kPurgeWorkersLimits.least, kPurgeWorkersLimits.greatest, 0);
MYSQL_SYSVAR_ULONGLONG(max_purge_lag, g_max_purge_lag, PLUGIN_VAR_RQCMDARG,
                       "Old row versions that purge may be behind before sessions that write are "
                       "slowed down to its rate; 0: they never are. What an old snapshot keeps "
                       "does not count.",
                       (CheckNumber<unsigned long long, kMaxPurgeLagLimits, ApplyMaxPurgeLag>),
                       (UpdateTo<unsigned long long, ApplyMaxPurgeLag>), kTxns.max_purge_lag,
                       kMaxPurgeLagLimits.least, kMaxPurgeLagLimits.greatest, 0);
MYSQL_SYSVAR_UINT(page_cleaners, g_page_cleaners, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Threads that write changed pages; 0 chooses by processors and pool size.",
                  nullptr, nullptr, kBuffer.cleaners, kCleanersLimits.least,
                  kCleanersLimits.greatest, 0);
MYSQL_SYSVAR_UINT(force_recovery, g_force_recovery, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "For a start that something stands in the way of. 1: files and pages that cannot "
                  "be read are passed over, and queries read what is left of damaged tables; 2: no "
                  "purge either; 3: no rollback of unfinished transactions; 4: read-only, nothing "
                  "on disk is changed.",
                  nullptr, nullptr, 0, 0, kForceReadOnly, 0);
MYSQL_SYSVAR_UINT(autoinc_lock_mode, g_autoinc_lock_mode, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Which statements keep a table's AUTO_INCREMENT counter until they end. 0: "
                  "every insert; 1: inserts of an unknown number of rows; 2: none.",
                  nullptr, nullptr, kAutoIncrementInterleaved, kAutoIncrementTraditional,
                  kAutoIncrementInterleaved, 0);
MYSQL_SYSVAR_BOOL(deadlock_detect, g_deadlock_detect, PLUGIN_VAR_OPCMDARG,
                  "Find deadlocks when a row lock wait starts; off: only the lock wait time-out "
                  "ends "
                  "them.",
                  nullptr, nullptr, true);
MYSQL_SYSVAR_STR(data_home_dir, g_data_home_dir, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                 "Folder of all Rowan files, absolute or relative to the data directory.", nullptr,
                 nullptr, "rowan");
MYSQL_SYSVAR_BOOL(new_instance, g_new_instance, PLUGIN_VAR_OPCMDARG | PLUGIN_VAR_READONLY,
                  "For one start: creates a new, empty instance in a folder that has none although "
                  "the server's dictionary has Rowan tables. They are given up.",
                  nullptr, nullptr, false);
MYSQL_SYSVAR_ENUM(binlog_in_redo, g_binlog_in_redo, PLUGIN_VAR_RQCMDARG,
                  "With sync_binlog = 0: commits are as durable as with sync_binlog = 1, because "
                  "the redo log holds the end of the binary log, and take one sync. early_send: "
                  "replicas may get a group of commits before that sync.",
                  nullptr, UpdateBinlogInRedo, 0, &g_binlog_in_redo_types);
MYSQL_SYSVAR_ENUM(in_doubt, g_in_doubt, PLUGIN_VAR_RQCMDARG | PLUGIN_VAR_READONLY,
                  "Transactions left prepared by a crash whose outcome is not in the binary log "
                  "any more: refuse to start, commit them, or rollback them.",
                  nullptr, nullptr, 0, &g_in_doubt_types);
MYSQL_THDVAR_UINT(flush_log_at_trx_commit, PLUGIN_VAR_RQCMDARG,
                  "1: a commit is on disk when it is acknowledged; 2: it survives a crash of the "
                  "server but not of the machine; 0: up to a second of commits may be lost.",
                  nullptr, nullptr, 1, 0, 2, 0);
MYSQL_THDVAR_UINT(lock_wait_timeout, PLUGIN_VAR_RQCMDARG,
                  "Seconds to wait for a row lock before the statement fails; 0: as long as "
                  "innodb_lock_wait_timeout says.",
                  nullptr, nullptr, 0, 0, 1024 * 1024 * 1024, 0);

MYSQL_THDVAR_UINT(ddl_threads, PLUGIN_VAR_RQCMDARG,
                  "Threads that an ALTER TABLE or CREATE INDEX builds indexes with, its own "
                  "included; 0: as many as there are processors, at most 4.",
                  nullptr, nullptr, 0, 0, 64, 0);
MYSQL_THDVAR_BOOL(pushdown_groupwise, PLUGIN_VAR_OPCMDARG,
                  "Queries that need only the first rows of each group read only those, where an "
                  "index has the groups in order.",
                  nullptr, nullptr, true);
MYSQL_THDVAR_BOOL(pushdown_blocks, PLUGIN_VAR_OPCMDARG,
                  "The engine evaluates conditions and aggregates on one table in batches of rows.",
                  nullptr, nullptr, true);
MYSQL_THDVAR_ULONGLONG(pushdown_rows_min, PLUGIN_VAR_RQCMDARG,
                       "It does so where the optimizer expects at least so many rows.", nullptr,
                       nullptr, 50, 0, ULLONG_MAX, 0);
MYSQL_SYSVAR_UINT(parallel_workers_max, g_parallel_workers_max, PLUGIN_VAR_RQCMDARG,
                  "Threads that help all sessions with scans evaluated in batches. By default as "
                  "many as there are processors, at most 8. 0: none.",
                  nullptr, UpdateScanWorkers, kScanWorkersByProcessors, 0, kScanWorkersByProcessors,
                  0);
MYSQL_THDVAR_UINT(parallel_workers, PLUGIN_VAR_RQCMDARG,
                  "Threads of rowan_parallel_workers_max that may help with one scan, as far as "
                  "they are free. 0: none.",
                  nullptr, nullptr, 4, 0, WorkerPool::kThreadsMax, 0);
MYSQL_THDVAR_ULONGLONG(parallel_rows_min, PLUGIN_VAR_RQCMDARG,
                       "They help with scans for which the optimizer expects at least so many "
                       "rows.",
                       nullptr, nullptr, 100'000, 0, ULLONG_MAX, 0);

}  // namespace

SYS_VAR* g_system_variables[] = {MYSQL_SYSVAR(buffer_pool_size),
                                 MYSQL_SYSVAR(page_size),
                                 MYSQL_SYSVAR(redo_log_capacity),
                                 MYSQL_SYSVAR(log_buffer_size),
                                 MYSQL_SYSVAR(log_sync_method),
                                 MYSQL_SYSVAR(data_sync_method),
                                 MYSQL_SYSVAR(doublewrite),
                                 MYSQL_SYSVAR(io_backend),
                                 MYSQL_SYSVAR(io_capacity),
                                 MYSQL_SYSVAR(lock_memory_size),
                                 MYSQL_SYSVAR(purge_threads),
                                 MYSQL_SYSVAR(max_purge_lag),
                                 MYSQL_SYSVAR(page_cleaners),
                                 MYSQL_SYSVAR(force_recovery),
                                 MYSQL_SYSVAR(shutdown_timeout),
                                 MYSQL_SYSVAR(online_alter_log_max_size),
                                 MYSQL_SYSVAR(autoinc_lock_mode),
                                 MYSQL_SYSVAR(deadlock_detect),
                                 MYSQL_SYSVAR(data_home_dir),
                                 MYSQL_SYSVAR(new_instance),
                                 MYSQL_SYSVAR(in_doubt),
                                 MYSQL_SYSVAR(binlog_in_redo),
                                 MYSQL_SYSVAR(flush_log_at_trx_commit),
                                 MYSQL_SYSVAR(lock_wait_timeout),
                                 MYSQL_SYSVAR(ddl_threads),
                                 MYSQL_SYSVAR(snapshot_isolation),
                                 MYSQL_SYSVAR(pushdown_groupwise),
                                 MYSQL_SYSVAR(pushdown_blocks),
                                 MYSQL_SYSVAR(pushdown_rows_min),
                                 MYSQL_SYSVAR(parallel_workers_max),
                                 MYSQL_SYSVAR(parallel_workers),
                                 MYSQL_SYSVAR(parallel_rows_min),
                                 MYSQL_SYSVAR(serializable),
                                 MYSQL_SYSVAR(scrub_bytes_per_second),
                                 nullptr};

Status OptionsFromVariables(EngineOptions* options) {
  if (!IsPageSize(g_page_size)) {
    LogError("rowan_page_size is {}; it must be a power of two from 4096 to 65536.", g_page_size);
    return Status(Code::kInvalidArgument, "page size");
  }
  const std::string folder = g_data_home_dir == nullptr ? "" : g_data_home_dir;
  if (folder.empty() || folder == "." || folder == "./") {
    LogError("rowan_data_home_dir must name a folder of its own.");
    return Status(Code::kInvalidArgument, "data folder");
  }
  std::string home(mysql_real_data_home);
  if (!home.ends_with('/')) home += '/';
  options->storage.folder = folder[0] == '/' ? folder : home + folder;
  options->storage.page_size_bytes = g_page_size;
  options->storage.buffer.pool_bytes = g_buffer_pool_size;
  options->storage.log.capacity_bytes = g_redo_log_capacity;
  options->storage.log.buffer_bytes = std::bit_ceil(g_log_buffer_size);
  options->storage.log.sync_method = LogSyncFromIndex(g_log_sync_method);
  options->storage.buffer.data_sync_method = DataSyncFromIndex(g_data_sync_method);
  options->storage.buffer.doublewrite = DoublewriteFromIndex(g_doublewrite);
  options->storage.buffer.io_backend = IoBackendFromIndex(g_io_backend);
  options->storage.buffer.io_capacity_pages_per_second = g_io_capacity;
  options->storage.scrub_bytes_per_second = g_scrub_rate;
  options->txns.lock_memory_bytes_max = g_lock_memory;
  options->purge.workers = g_purge_threads;
  options->txns.max_purge_lag = g_max_purge_lag;
  options->storage.buffer.cleaners = g_page_cleaners;
  options->storage.recovery.force = g_force_recovery >= kForceReadable;
  options->purges = g_force_recovery < kForceNoPurge;
  options->rolls_back = g_force_recovery < kForceNoRollback;
  options->storage.read_only = g_force_recovery >= kForceReadOnly;
  return Status::Ok();
}

Durability FlushLogAtTrxCommit(THD* thd) {
  return static_cast<Durability>(THDVAR(thd, flush_log_at_trx_commit));
}
bool OptimisticSerializable(THD* thd) { return THDVAR(thd, serializable) == 1; }
bool SnapshotIsolation(THD* thd) { return THDVAR(thd, snapshot_isolation); }
bool PushdownGroupwise(THD* thd) { return THDVAR(thd, pushdown_groupwise); }
bool PushdownBlocks(THD* thd) { return THDVAR(thd, pushdown_blocks); }
double PushdownRowsMin(THD* thd) { return static_cast<double>(THDVAR(thd, pushdown_rows_min)); }
uint32_t ParallelWorkers(THD* thd, double rows) {
  if (rows < static_cast<double>(THDVAR(thd, parallel_rows_min))) return 0;
  return std::min(THDVAR(thd, parallel_workers), ScanWorkersMax());
}
uint32_t LockWaitTimeoutSeconds(THD* thd) {
  const uint32_t own = THDVAR(thd, lock_wait_timeout);
  return own != 0 ? own : static_cast<uint32_t>(thd_lock_wait_timeout(thd).count());
}
uint32_t DdlThreads(THD* thd) {
  const uint32_t wanted = THDVAR(thd, ddl_threads);
  return wanted != 0 ? wanted : std::clamp(std::thread::hardware_concurrency(), 1u, 4u);
}
uint32_t ParallelWorkersMax() { return g_parallel_workers_max; }
bool RollbackOnTimeout() { return row_rollback_on_timeout; }
uint64_t OnlineAlterLogBytesMax() { return g_online_alter_log_max_size; }
uint64_t ShutdownLimitNanos() {
  return g_shutdown_timeout == 0 ? UINT64_MAX : uint64_t{g_shutdown_timeout} * 1'000'000'000;
}
InDoubtPolicy InDoubtPolicyFromVariable() { return static_cast<InDoubtPolicy>(g_in_doubt); }
unsigned int AutoIncrementLockMode() { return g_autoinc_lock_mode; }
bool DeadlockDetect() { return g_deadlock_detect; }
bool NewInstanceWanted() { return g_new_instance; }
BinlogInRedo BinlogInRedoMode() { return static_cast<BinlogInRedo>(g_binlog_in_redo); }
void ShowSettingsInForce() {
  g_redo_log_capacity = g_engine->Figures().log_capacity_bytes;
  g_log_buffer_size = g_engine->options().storage.log.buffer_bytes;
  g_page_size = g_engine->options().storage.page_size_bytes;
  g_buffer_pool_size = PoolBytesInForce();
  g_parallel_workers_max = ScanWorkersMax();
}
uint64_t BufferPoolBytes() { return g_buffer_pool_size; }

}  // namespace rowan
