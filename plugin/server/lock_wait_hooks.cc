// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/lock_wait_hooks.h"

#include "mysql/plugin.h"
#include "mysql/service_thd_engine_lock.h"
#include "mysql/service_thd_wait.h"
#include "sql/sql_class.h"

// For loaded plugins the header declares functions of these names that do nothing; these are the
// ones that the built-in engines call.
void thd_wait_begin(THD* thd, int wait_type);
void thd_wait_end(THD* thd);

namespace rowan {
namespace {

void BeginWait() { thd_wait_begin(nullptr, THD_WAIT_ROW_LOCK); }
void EndWait() { thd_wait_end(nullptr); }

/// A transaction of a replica that waits for a later one, which waits for its turn to commit, would
/// wait for ever: the server rolls the later one back.
void ReportBlocked(void* waiter, void* holder) {
  thd_report_lock_wait(static_cast<THD*>(waiter), static_cast<THD*>(holder), true);
}

}  // namespace

LockWaitHooks ServerLockWaitHooks() {
  return {.begin = BeginWait, .end = EndWait, .worker_blocked = ReportBlocked};
}

void* ReplicaWorkerOf(THD* thd) {
  return thd->system_thread == SYSTEM_THREAD_SLAVE_WORKER ? thd : nullptr;
}

}  // namespace rowan
