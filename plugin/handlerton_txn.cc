// SPDX-License-Identifier: GPL-2.0-only
// Commit, rollback, savepoints, connections. A commit must not fail once the coordinator has
// decided it: the engine only fails it when it is stopped, and then nothing goes on anyway.
#include "plugin/server/abi_guard.h"

#include "plugin/handlerton.h"

#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/handler.h"
#include "sql/sql_class.h"
#include "sql/sql_error.h"
#include "sql/sql_thd_internal_api.h"

#include "base/logging.h"
#include "engine/engine.h"
#include "plugin/server/binlog_carrier.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// The coordinator has made durable what was prepared, unless its log failed and it goes on without
/// it (binlog_error_action = IGNORE_ERROR).
CommitWait WaitOf(THD* thd, const ThdContext& context, Durability durability) {
  const bool coordinated = thd_get_durability_property(thd) == HA_IGNORE_DURABILITY;
  const bool forgotten = BinlogInRedoMode() != BinlogInRedo::kOff &&
                         durability == Durability::kDurable &&
                         context.prepared_lsn > g_engine->durable_lsn();
  return coordinated && !forgotten ? CommitWait::kNone : CommitWait::kAsDurability;
}

int CommitTxn(handlerton*, THD* thd, bool all) {
  ThdContext* context = FindContext(thd);
  if (context == nullptr) return 0;
  Session* session = context->session.get();
  if (!EndsTransaction(thd, all)) {
    return session->EndStatement(StatementEnd::kKeep).ok() ? 0 : kFailed;
  }
  // A change of the catalog is durable whatever the session prefers: the server's dictionary is.
  const Durability durability =
      context->changed_catalog ? Durability::kDurable : FlushLogAtTrxCommit(thd);
  const CommitWait wait = WaitOf(thd, *context, durability);
  // The dictionary's engine has committed before us, but in memory: were ours durable alone, a
  // crash would leave a table that the dictionary does not know. See server/in_doubt.h.
  if (session->prepared() && ChangesCatalogUnlogged(thd, *context) && ha_flush_logs(false)) {
    LogWarning("The logs of the other engines could not be flushed before a change of tables.");
  }
  const Status status = session->Commit(durability, wait);
  if (wait == CommitWait::kNone) MakeDurableWithNextFlush(session->last_commit_lsn(), durability);
  EndCarryingClosedBinlog();
  context->changed_catalog = false;
  if (status.Is(Code::kDeadlock)) {
    // Not serializable (rowan_serializable = optimistic). The server asks for no rollback here.
    RaiseNotSerializable();
    return session->Rollback().ok() ? HA_ERR_LOCK_DEADLOCK : kFailed;
  }
  if (!status.ok()) {
    LogError("A commit failed: {}.", status.message());
    // The server asks for no rollback here, either. The next statement reports what failed.
    if (!session->prepared() && !session->idle()) session->Rollback().Ignore();
  }
  return status.ok() ? 0 : kFailed;
}

/// The transaction is over for its session, and nothing of it is visible: what could not be undone
/// keeps its rows locked until the engine has undone it. A failure instead would make the server
/// keep the transaction's events, and write them to the binary log with the session's next.
void WarnOfRollbackLeft(THD* thd, const Status& status) {
  push_warning_printf(
      thd, Sql_condition::SL_WARNING, ER_ERROR_DURING_ROLLBACK,
      "Rowan could not undo all of the transaction (%s): the error log says more. Rows that are "
      "left stay locked until that is done, which is tried again.",
      status.message());
}

int RollbackTxn(handlerton*, THD* thd, bool all) {
  ThdContext* context = FindContext(thd);
  if (context == nullptr) return 0;
  Session* session = context->session.get();
  const bool whole = EndsTransaction(thd, all);
  if (whole) ForgetFormerKill(thd, session);
  // A failed change of tables takes its transaction with it.
  const StatementEnd end = context->changed_catalog ? StatementEnd::kGiveUp : StatementEnd::kUndo;
  const Status status = whole ? session->Rollback() : session->EndStatement(end);
  if (whole) {
    context->changed_catalog = false;
    if (status.ok()) return 0;
    // Its events are in the binary log already, and it may have stayed prepared.
    if (thd->get_transaction()->xid_state()->has_state(XID_STATE::XA_PREPARED)) {
      return HandlerError(thd, status);
    }
    WarnOfRollbackLeft(thd, status);
    return 0;
  }
  // Half of a statement may be left: nothing of the transaction can stay.
  if (!status.ok()) thd_mark_transaction_to_rollback(thd, 1);
  if (status.Is(Code::kInterrupted) && end == StatementEnd::kGiveUp) return 0;
  return HandlerError(thd, status);
}

int SetSavepoint(handlerton*, THD* thd, void* name) {
  ThdContext* context = ContextOf(thd);
  if (context == nullptr) return kFailed;
  context->savepoints.Set(name, context->session->CurrentPlace());
  return 0;
}

int RollbackToSavepoint(handlerton*, THD* thd, void* name) {
  ThdContext* context = FindContext(thd);
  const Session::Place* place = context == nullptr ? nullptr : context->savepoints.ReturnTo(name);
  if (place == nullptr) return kFailed;
  return HandlerError(thd, context->session->ReturnTo(*place));
}

int ReleaseSavepoint(handlerton*, THD* thd, void* name) {
  ThdContext* context = FindContext(thd);
  if (context != nullptr) context->savepoints.Release(name);
  return 0;
}

/// Row locks taken since the savepoint are kept, so metadata locks must be kept, too, unless
/// nothing was changed.
bool CanReleaseMetadataLocks(handlerton*, THD* thd) {
  ThdContext* context = FindContext(thd);
  return context == nullptr || !context->session->wrote();
}

int StartConsistentSnapshot(handlerton*, THD* thd) {
  ThdContext* context = ContextOf(thd);
  const Status status = EnterStatement(thd, context);
  if (!status.ok()) return HandlerError(thd, status);
  if (context->session->isolation() >= IsolationLevel::kRepeatableRead) {
    context->session->OpenSnapshot();
  } else {
    push_warning_printf(thd, Sql_condition::SL_WARNING, ER_UNKNOWN_ERROR,
                        "Rowan: a consistent snapshot needs REPEATABLE READ or SERIALIZABLE; at "
                        "this "
                        "isolation level each statement takes its own");
  }
  return 0;
}

int CloseConnection(handlerton*, THD* thd) {
  DiscardContext(thd, TakeContext(thd));
  return 0;
}

/// On the killer's thread, under the THD's LOCK_thd_data: only wakes a waiter.
void KillConnection(handlerton*, THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context == nullptr) return;
  const bool ends = thd->killed == THD::KILL_CONNECTION;
  context->session->Interrupt(ends ? Interruption::kSession : Interruption::kStatement);
}

/// XA: the connection gives its transaction away, or takes another one.
void ReplaceTransaction(THD* thd, void* replacement, void** previous) {
  ThdContext* old = SwapContext(thd, static_cast<ThdContext*>(replacement));
  if (previous != nullptr) {
    *previous = old;
  } else {
    DiscardContext(thd, old);  // a prepared transaction goes on without a session
  }
}

}  // namespace

void SetTransactionHooks(handlerton* hton) {
  hton->savepoint_offset = 0;
  hton->commit = CommitTxn;
  hton->rollback = RollbackTxn;
  hton->savepoint_set = SetSavepoint;
  hton->savepoint_rollback = RollbackToSavepoint;
  hton->savepoint_release = ReleaseSavepoint;
  hton->savepoint_rollback_can_release_mdl = CanReleaseMetadataLocks;
  hton->start_consistent_snapshot = StartConsistentSnapshot;
  hton->close_connection = CloseConnection;
  hton->kill_connection = KillConnection;
  hton->replace_native_transaction_in_thd = ReplaceTransaction;
}

}  // namespace rowan
