// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/lock_wait_hooks.h"

#include "mysql/plugin.h"
#include "mysql/psi/mysql_cond.h"
#include "mysql/service_thd_engine_lock.h"
#include "mysql/service_thd_wait.h"
#include "sql/sql_class.h"

// For loaded plugins the header declares functions of these names that do nothing; these are the
// ones that built-in engines call.
void thd_wait_begin(THD* thd, int wait_type);
void thd_wait_end(THD* thd);

namespace rowan {
namespace {

// performance_schema has a wait for a row lock as one for a condition.
PSI_cond_key g_row_lock_key;
PSI_cond* g_row_lock = nullptr;  // set before any thread waits

/// Of the thread that waits.
struct InstrumentedWait {
  PSI_cond_locker_state state;
  PSI_cond_locker* locker = nullptr;
};
thread_local InstrumentedWait t_wait;

void BeginWait() {
  thd_wait_begin(nullptr, THD_WAIT_ROW_LOCK);
  if (g_row_lock == nullptr) return;
  t_wait.locker = PSI_COND_CALL(start_cond_wait)(&t_wait.state, g_row_lock, nullptr, PSI_COND_WAIT,
                                                 __FILE__, __LINE__);
}

void EndWait() {
  if (t_wait.locker != nullptr) PSI_COND_CALL(end_cond_wait)(t_wait.locker, 0);
  t_wait.locker = nullptr;
  thd_wait_end(nullptr);
}

/// A transaction of a replica that waits for a later one, which waits for its turn to commit, would
/// wait forever: the server rolls the later one back.
void ReportBlocked(void* waiter, void* holder) {
  thd_report_lock_wait(static_cast<THD*>(waiter), static_cast<THD*>(holder), true);
}

}  // namespace

LockWaitHooks ServerLockWaitHooks() {
  static PSI_cond_info infos[] = {{&g_row_lock_key, "row_lock", 0, 0, PSI_DOCUMENT_ME}};
  mysql_cond_register("rowan", infos, 1);
  if (g_row_lock == nullptr) g_row_lock = PSI_COND_CALL(init_cond)(g_row_lock_key, &g_row_lock);
  return {.begin = BeginWait, .end = EndWait, .worker_blocked = ReportBlocked};
}

void ForgetLockWaits() {
  if (g_row_lock != nullptr) PSI_COND_CALL(destroy_cond)(g_row_lock);
  g_row_lock = nullptr;
}

void* ReplicaWorkerOf(THD* thd) {
  return thd->system_thread == SYSTEM_THREAD_SLAVE_WORKER ? thd : nullptr;
}

}  // namespace rowan
