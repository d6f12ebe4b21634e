// SPDX-License-Identifier: GPL-2.0-only
// The rowan_* variables: their values, and which of them take effect while the server runs. An
// unusable value is refused with a sentence: at startup plugin initialisation fails, at run time
// SET fails and the old value stays.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/options.h"
#include "plugin/server/in_doubt.h"

class THD;
struct SYS_VAR;

namespace rowan {

/// For the plugin descriptor; ends with null.
extern SYS_VAR* g_system_variables[];

/// Options for Engine::Open. Errors have been logged.
Status OptionsFromVariables(EngineOptions* options);

/// Makes variables whose requested value was rounded or ignored show what is in force. Call after
/// Engine::Open.
void ShowSettingsInForce();

Durability FlushLogAtTrxCommit(THD* thd);
/// rowan_serializable is optimistic.
bool OptimisticSerializable(THD* thd);
/// rowan_snapshot_isolation.
bool SnapshotIsolation(THD* thd);
/// rowan_pushdown_groupwise.
bool PushdownGroupwise(THD* thd);
/// rowan_pushdown_blocks.
bool PushdownBlocks(THD* thd);
/// rowan_pushdown_rows_min.
double PushdownRowsMin(THD* thd);
/// How many threads may help a scan for which so many rows are expected (scan_workers.h).
uint32_t ParallelWorkers(THD* thd, double rows);
/// rowan_parallel_workers_max, for StartScanWorkers.
uint32_t ParallelWorkersMax();
/// The session's rowan_lock_wait_timeout, or innodb_lock_wait_timeout where that is 0.
uint32_t LockWaitTimeoutSeconds(THD* thd);
/// innodb_rollback_on_timeout.
bool RollbackOnTimeout();
bool DeadlockDetect();
/// rowan_autoinc_lock_mode
inline constexpr unsigned int kAutoIncrementTraditional = 0;
inline constexpr unsigned int kAutoIncrementConsecutive = 1;
inline constexpr unsigned int kAutoIncrementInterleaved = 2;
unsigned int AutoIncrementLockMode();
/// rowan_online_alter_log_max_size.
uint64_t OnlineAlterLogBytesMax();
/// The session's rowan_ddl_threads, or what the machine has; at least 1.
uint32_t DdlThreads(THD* thd);
/// UINT64_MAX: no limit.
uint64_t ShutdownLimitNanos();
InDoubtPolicy InDoubtPolicyFromVariable();
uint64_t BufferPoolBytes();
/// rowan_binlog_in_redo.
enum class BinlogInRedo {
  kOff,
  kOn,
  kEarlySend,  ///< replicas may get a group before it is durable
};
BinlogInRedo BinlogInRedoMode();
/// rowan_new_instance.
bool NewInstanceWanted();

}  // namespace rowan
