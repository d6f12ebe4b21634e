// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/thd_context.h"

#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/handler.h"
#include "sql/mysqld.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"
#include "sql/sql_parse.h"
#include "sql/sql_thd_internal_api.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/lock_wait_hooks.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// Marks a context in the server's slot as taken away.
char g_taken;

IsolationLevel IsolationOf(THD* thd) {
  switch (thd_get_trx_isolation(thd)) {
    case ISO_READ_UNCOMMITTED: return IsolationLevel::kReadUncommitted;
    case ISO_READ_COMMITTED: return IsolationLevel::kReadCommitted;
    case ISO_SERIALIZABLE: return IsolationLevel::kSerializable;
    case ISO_REPEATABLE_READ: break;
  }
  return IsolationLevel::kRepeatableRead;
}

/// The transaction that begins with this statement promises not to change rows.
bool WillNotWrite(THD* thd) {
  if (thd->tx_read_only) return true;
  const bool alone = thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) == 0;
  return alone && thd_sql_command(thd) == SQLCOM_SELECT && !thd->lex->uses_stored_routines();
}

/// What appliers repeat was serializable where it ran; and a change of definitions must not fail in
/// the end.
void ChooseSerializability(THD* thd, Session* session) {
  if (session->isolation() != IsolationLevel::kSerializable || !OptimisticSerializable(thd)) return;
  if (thd->slave_thread || stmt_causes_implicit_commit(thd, CF_AUTO_COMMIT_TRANS)) return;
  session->BeginOptimistic(WillNotWrite(thd));
}

void Register(THD* thd) {
  trans_register_ha(thd, false, g_hton, nullptr);
  if (thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) != 0) {
    trans_register_ha(thd, true, g_hton, nullptr);
  }
}

}  // namespace

void Savepoints::Set(const void* name, const Session::Place& place) {
  Release(name);
  points_.push_back({name, place});
}

const Session::Place* Savepoints::ReturnTo(const void* name) {
  for (size_t i = points_.size(); i-- > 0;) {
    if (points_[i].name != name) continue;
    points_.resize(i + 1);
    return &points_[i].place;
  }
  return nullptr;
}

void Savepoints::Release(const void* name) {
  std::erase_if(points_, [name](const Point& point) { return point.name == name; });
}

ThdContext* FindContext(THD* thd) {
  void* data = thd_get_ha_data(thd, g_hton);
  return data == &g_taken ? nullptr : static_cast<ThdContext*>(data);
}

ThdContext* TakeContext(THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context != nullptr) thd_set_ha_data(thd, g_hton, &g_taken);
  return context;
}

ThdContext* ContextOf(THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context != nullptr) return context;
  thd_set_ha_data(thd, g_hton, &g_taken);  // takes hold of the plugin, unless it is going
  if (thd->get_ha_data(g_hton->slot)->lock == nullptr) {
    thd_set_ha_data(thd, g_hton, nullptr);
    my_error(ER_PLUGIN_IS_NOT_LOADED, MYF(0), "ROWAN");
    return nullptr;
  }
  context = new ThdContext(g_engine);
  thd_set_ha_data(thd, g_hton, context);
  return context;
}

void DiscardContext(THD* thd, ThdContext* context) {
  // A thread that kills this session and found the context holds this mutex until it is done.
  mysql_mutex_lock(&thd->LOCK_thd_data);
  mysql_mutex_unlock(&thd->LOCK_thd_data);
  delete context;
}

ThdContext* SwapContext(THD* thd, ThdContext* context) {
  ThdContext* previous = FindContext(thd);
  if (previous != nullptr) previous->session->SetThread(0, nullptr);
  thd_set_ha_data(thd, g_hton, context);
  return previous;
}

void ReleaseIdleContext(THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context != nullptr && (!context->session->idle() || context->backup != nullptr)) return;
  DiscardContext(thd, SwapContext(thd, nullptr));
}

void ForgetFormerKill(THD* thd, Session* session) {
  if (!session->interrupted()) return;
  session->ClearInterrupt();
  if (thd_killed(thd) != 0) session->Interrupt();  // one that arrives now sets both
}

Status EnterStatement(THD* thd, ThdContext* context) {
  if (context == nullptr) return Status(Code::kStopped, "the plugin is being uninstalled");
  Session* session = context->session.get();
  if (session->prepared()) {
    return Status(Code::kInvalidArgument, "the transaction is prepared");
  }
  Register(thd);
  if (!session->in_transaction()) {
    session->Begin(IsolationOf(thd));
    ChooseSerializability(thd, session);
    context->changed_catalog = false;
    context->savepoints.Clear();
  }
  session->SetThread(thd->thread_id(), ReplicaWorkerOf(thd));
  session->SetSnapshotIsolation(SnapshotIsolation(thd));
  session->SetLockWait({LockWaitTimeoutSeconds(thd), DeadlockDetect()});
  ForgetFormerKill(thd, session);
  session->StartStatement();
  return Status::Ok();
}

Status EnterCatalogChange(THD* thd, ThdContext* context) {
  const Status status = EnterStatement(thd, context);
  if (!status.ok()) return status;
  context->changed_catalog = true;
  thd->get_ha_data(g_hton->slot)->ha_info[0].set_trx_read_write();
  return status;
}

bool ChangesCatalogUnlogged(THD* thd, const ThdContext& context) {
  return context.changed_catalog && opt_bin_log &&
         (thd->variables.option_bits & OPTION_BIN_LOG) == 0;
}

bool EndsTransaction(THD* thd, bool all) {
  return all || thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) == 0;
}

}  // namespace rowan
