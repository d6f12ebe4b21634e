// SPDX-License-Identifier: GPL-2.0-only
// Two-phase commit. With the binlog: prepare appends, flush_logs makes everything prepared durable
// once per group, commit waits for nothing. Each prepare notes how durable its session wants it, so
// one group flush serves the most demanding session of the group and no more.
#include "plugin/server/abi_guard.h"

#include "plugin/handlerton.h"

#include <atomic>
#include <set>
#include <unordered_set>

#include "mysql/plugin.h"
#include "sql/handler.h"
#include "sql/mdl.h"
#include "sql/mdl_context_backup.h"
#include "sql/mysqld.h"
#include "sql/sql_class.h"
#include "sql/sql_table.h"
#include "sql/sql_thd_internal_api.h"
#include "sql/xa.h"
#include "sql/xa/transaction_cache.h"

#include "base/atomic_max.h"
#include "base/logging.h"
#include "base/mutex.h"
#include "engine/engine.h"
#include "plugin/handler/partition_names.h"
#include "plugin/server/binlog_carrier.h"
#include "plugin/server/error_map.h"
#include "plugin/server/in_doubt.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"
#include "plugin/server/thd_context.h"
#include "plugin/server/xid_bytes.h"

namespace rowan {
namespace {

// Ends of the newest groups that the coordinator makes durable, by what their sessions ask for.
std::atomic<uint64_t> g_unflushed_durable{0};
std::atomic<uint64_t> g_unflushed_written{0};

/// Recovery hands prepared transactions out in batches: which were reported already.
class Reported {
 public:
  bool Add(const std::string& xid) {
    const MutexLock lock(&mutex_);
    return xids_.insert(xid).second;
  }

 private:
  Mutex mutex_{LatchRank::kReportedXids};
  std::unordered_set<std::string> xids_ ROWAN_GUARDED_BY(mutex_);
};
Reported g_reported;

bool IsInternal(const XID& xid) { return const_cast<XID&>(xid).get_my_xid() != 0; }

int Prepare(handlerton*, THD* thd, bool all) {
  ThdContext* context = FindContext(thd);
  if (context == nullptr) return 0;
  Session* session = context->session.get();
  if (!EndsTransaction(thd, all)) {
    return session->EndStatement(StatementEnd::kKeep).ok() ? 0 : kFailed;
  }
  if (!session->in_transaction()) return 0;
  XID xid;
  thd_get_xid(thd, reinterpret_cast<MYSQL_XID*>(&xid));
  std::string bytes = XidToBytes(xid);
  if (IsInternal(xid)) {
    AppendMark(RunMark(), &bytes);
  } else if (GoesToBinlog(thd, Transaction_ctx::SESSION)) {
    AppendMark(kMarkNotInBinlog, &bytes);  // until SetPreparedInCoordinator
  }
  const Coordinator coordinator = IsInternal(xid) ? Coordinator::kInternal : Coordinator::kExternal;
  Result<Lsn> prepared = session->Prepare(AsBytes(bytes), coordinator);
  if (prepared.status().Is(Code::kDeadlock)) RaiseNotSerializable();
  if (!prepared.ok()) return HandlerError(thd, prepared.status());
  context->prepared_lsn = *prepared;
  const Durability durability =
      context->changed_catalog ? Durability::kDurable : FlushLogAtTrxCommit(thd);
  MakeDurableWithNextFlush(*prepared, durability);
  const bool unlogged = ChangesCatalogUnlogged(thd, *context);
  // Nothing else flushes what goes to no binary log.
  if (!unlogged && thd_get_durability_property(thd) == HA_IGNORE_DURABILITY) return 0;
  return HandlerError(thd, g_engine->WaitCommitted(*prepared, durability));
}

bool FlushLogs(handlerton*, bool binlog_group_flush) {
  if (!binlog_group_flush) return !g_engine->FlushLog().ok();
  if (DefersToBinlog(current_thd)) return false;
  const Lsn durable(g_unflushed_durable.load(std::memory_order_acquire));
  const Lsn written(g_unflushed_written.load(std::memory_order_acquire));
  if (durable > g_engine->durable_lsn() && !g_engine->WaitDurable(durable).ok()) return true;
  return written > g_engine->written_lsn() && !g_engine->WaitWritten(written).ok();
}

int FollowBinlog(handlerton*, THD*, enum_binlog_func function, void*) {
  if (function == BFN_RESET_LOGS) EndCarryingBinlog();
  return 0;
}

/// "schema/table" of what a transaction changed, partitioned tables once.
std::set<std::string> TablesOfServer(const std::string& stored_xid) {
  std::set<std::string> tables;
  for (const std::string& name : g_engine->TablesChangedBy(stored_xid)) {
    tables.insert(NameWithoutPartition(name));
  }
  return tables;
}

/// The tables a transaction changed, for the server to keep DDL away from them until it is decided.
/// Null when memory runs out.
List<st_handler_tablename>* ChangedTables(const std::string& stored_xid, MEM_ROOT* mem_root) {
  auto* tables = new (mem_root) List<st_handler_tablename>();
  if (tables == nullptr) return nullptr;
  for (const std::string& name : TablesOfServer(stored_xid)) {
    const size_t slash = name.find('/');
    auto* table = new (mem_root) st_handler_tablename();
    if (table == nullptr) return nullptr;
    // As file names: the server translates them back.
    table->db = strmake_root(mem_root, name.data(), slash);
    table->tablename = strdup_root(mem_root, name.c_str() + slash + 1);
    if (table->db == nullptr || table->tablename == nullptr) return nullptr;
    if (tables->push_back(table, mem_root)) return nullptr;
  }
  return tables;
}

/// Metadata locks in the name of a prepared transaction, as the server takes them at its start.
/// True on failure.
bool LockChangedTables(const std::string& stored_xid, XID* xid) {
  MEM_ROOT mem_root(PSI_NOT_INSTRUMENTED, 1024);
  MDL_request_list requests;
  for (const std::string& name : TablesOfServer(stored_xid)) {
    const size_t slash = name.find('/');
    char schema[NAME_LEN + 1];
    char table[NAME_LEN + 1];
    filename_to_tablename(name.substr(0, slash).c_str(), schema, sizeof(schema));
    filename_to_tablename(name.c_str() + slash + 1, table, sizeof(table));
    auto* request = new (&mem_root) MDL_request;
    if (request == nullptr) return true;
    MDL_REQUEST_INIT(request, MDL_key::TABLE, schema, table, MDL_SHARED_WRITE, MDL_TRANSACTION);
    requests.push_front(request);
  }
  return MDL_context_backup_manager::instance().create_backup(&requests, xid->key(),
                                                              xid->key_length());
}

int Recover(handlerton*, XA_recover_txn* list, uint capacity, MEM_ROOT* mem_root) {
  uint count = 0;
  for (const std::string& bytes : g_engine->PreparedXids()) {
    if (count == capacity) break;
    XID xid;
    if (!BytesToXid(bytes, &xid, nullptr)) {
      LogError("A prepared transaction has a malformed XID of {} bytes.", bytes.size());
      continue;
    }
    if (!g_reported.Add(bytes)) continue;
    list[count].id = xid;
    list[count].mod_tables = ChangedTables(bytes, mem_root);
    if (list[count].mod_tables == nullptr) break;
    ++count;
  }
  if (count > 0) LogInfo("Prepared transactions that wait for the coordinator: {}.", count);
  return static_cast<int>(count);
}

/// Of clients' XA transactions those whose XA PREPARE the binary log has: its newest file may be
/// silent of it, because it was rotated since. Of the others that file knows, and what it does not
/// know is rolled back: it was never acknowledged, and a replica gets it once more.
int RecoverPreparedInCoordinator(handlerton*, Xa_state_list& states) {
  for (const std::string& bytes : g_engine->PreparedXids()) {
    XID xid;
    if (!BytesToXid(bytes, &xid, nullptr) || IsInternal(xid) || IsNotInBinlog(bytes)) continue;
    states.add(xid, enum_ha_recover_xa_state::PREPARED_IN_TC);  // keeps what is known already
  }
  return 0;
}

xa_status_code Outcome(Status status) {
  if (status.ok()) return XA_OK;
  return status.Is(Code::kNotFound) ? XAER_NOTA : XAER_RMFAIL;
}

/// The XID as the engine keeps it.
std::string StoredXid(const XID& xid) {
  std::string bytes = XidToBytes(xid);
  // Lengths come first in the bytes, so what may stand between is the same XID with a mark.
  std::string stored = g_engine->PreparedXidFrom(bytes);
  return IsXid(stored, bytes) ? stored : bytes;
}

xa_status_code CommitByXid(handlerton*, XID* xid) {
  return Outcome(g_engine->CommitPrepared(StoredXid(*xid), Durability::kDurable));
}

xa_status_code RollbackByXid(handlerton*, XID* xid) {
  return Outcome(g_engine->RollbackPrepared(StoredXid(*xid)));
}

/// The binary log has the XA PREPARE. Durable before the log moves on to another file: the server
/// asks for a flush then.
int SetPreparedInCoordinator(handlerton*, THD* thd) {
  ThdContext* context = FindContext(thd);
  if (context == nullptr || !context->session->prepared()) return 0;
  const std::string& stored = context->session->prepared_xid();
  if (!IsNotInBinlog(stored)) return 0;
  const std::string renamed = WithMarkInBinlog(stored);
  const Result<Lsn> end = context->session->RenamePrepared(AsBytes(renamed));
  if (!end.ok()) return HandlerError(thd, end.status());
  RaiseTo(&g_unflushed_durable, end.value().value());
  return 0;
}

/// At a start: the newest file of the binary log has the XA PREPARE, and a new one begins.
xa_status_code SetPreparedInCoordinatorByXid(handlerton*, XID* xid) {
  const std::string stored = StoredXid(*xid);
  if (!IsNotInBinlog(stored)) return XA_OK;
  const Status renamed = g_engine->RenamePrepared(stored, WithMarkInBinlog(stored));
  return Outcome(renamed.ok() ? g_engine->FlushLog() : renamed);
}

}  // namespace

void MakeDurableWithNextFlush(Lsn end, Durability durability) {
  if (durability == Durability::kDurable) RaiseTo(&g_unflushed_durable, end.value());
  if (durability == Durability::kWrite) RaiseTo(&g_unflushed_written, end.value());
}

bool ShowPreparedToServer() {
  for (const std::string& bytes : g_engine->PreparedXids()) {
    XID xid;
    if (!BytesToXid(bytes, &xid, nullptr) || IsInternal(xid)) continue;
    // Both know what they have already, as when InnoDB took part in the transaction.
    if (LockChangedTables(bytes, &xid) || xa::Transaction_cache::insert(&xid)) return false;
  }
  return true;
}

void SetTwoPhaseHooks(handlerton* hton) {
  hton->prepare = Prepare;
  hton->flush_logs = FlushLogs;
  hton->binlog_func = FollowBinlog;
  hton->recover = Recover;
  hton->recover_prepared_in_tc = RecoverPreparedInCoordinator;
  hton->commit_by_xid = CommitByXid;
  hton->rollback_by_xid = RollbackByXid;
  hton->set_prepared_in_tc = SetPreparedInCoordinator;
  hton->set_prepared_in_tc_by_xid = SetPreparedInCoordinatorByXid;
}

}  // namespace rowan
