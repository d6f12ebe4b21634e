// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/information_schema.h"

#include <cstring>
#include <string>

#include "sql/auth/auth_acls.h"
#include "sql/auth/auth_common.h"
#include "sql/field.h"
#include "sql/sql_class.h"
#include "sql/sql_plugin.h"
#include "sql/sql_show.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"

namespace rowan {
namespace {

constexpr size_t kLocksShownMax = 100000;

ST_FIELD_INFO NumberColumn(const char* name) {
  return {name, MY_INT64_NUM_DECIMAL_DIGITS, MYSQL_TYPE_LONGLONG, 0, MY_I_S_UNSIGNED, "", 0};
}
ST_FIELD_INFO TextColumn(const char* name, uint length) {
  return {name, length, MYSQL_TYPE_STRING, 0, 0, "", 0};
}
ST_FIELD_INFO NullableTextColumn(const char* name, uint length) {
  return {name, length, MYSQL_TYPE_STRING, 0, MY_I_S_MAYBE_NULL, "", 0};
}
ST_FIELD_INFO LastColumn() { return {nullptr, 0, MYSQL_TYPE_NULL, 0, 0, nullptr, 0}; }

void StoreNumber(TABLE* table, int column, uint64_t value) {
  table->field[column]->store(static_cast<longlong>(value), true);
}
void StoreText(TABLE* table, int column, const char* text) {
  table->field[column]->store(text, strlen(text), system_charset_info);
}

/// Other sessions' transactions concern only those who may see them. The engine stays until the
/// statement has ended.
bool MayLook(THD* thd) {
  return plugin_lock_by_name(thd, {STRING_WITH_LEN("ROWAN")}, MYSQL_STORAGE_ENGINE_PLUGIN) !=
             nullptr &&
         !check_global_access(thd, PROCESS_ACL);
}

const char* StateName(TxnState state) {
  switch (state) {
    case TxnState::kActive: return "RUNNING";
    case TxnState::kPrepared: return "PREPARED";
    case TxnState::kCommitted: return "COMMITTING";
    case TxnState::kRolledBack: return "ROLLING BACK";
    case TxnState::kIdle: break;
  }
  return "IDLE";
}

const char* KindName(LockKind kind) {
  switch (kind) {
    case LockKind::kRecord: return "RECORD";
    case LockKind::kGap: return "GAP";
    case LockKind::kNextKey: return "NEXT-KEY";
    case LockKind::kInsertIntention: return "INSERT INTENTION";
    case LockKind::kUniqueValue: return "UNIQUE VALUE";
  }
  return "UNKNOWN";
}

constexpr uint kNameBytesMax = 64 * 3;
constexpr uint kKeyShownMax = 400;

/// The bytes in hexadecimal digits, which are in the order of the index: of an INT, add 80000000.
std::string KeyText(const std::string& bytes) {
  constexpr char kDigits[] = "0123456789ABCDEF";
  constexpr size_t kBytesShownMax = (kKeyShownMax - 10) / 4;
  std::string text;
  for (const char byte : bytes.substr(0, kBytesShownMax)) {
    const auto value = static_cast<unsigned char>(byte);
    text += kDigits[value >> 4];
    text += kDigits[value & 15];
  }
  return bytes.size() > kBytesShownMax ? text + "..." : text;
}

/// A key; [from, to) for a range; null when nobody waits for the lock, so that only a hash of its
/// key is kept.
void StoreKey(TABLE* table, int column, const LockInfo& info) {
  std::string text = KeyText(info.key);
  if (info.kind == LockKind::kNextKey) text = "[" + text + ", " + KeyText(info.range_end) + ")";
  if (text.empty()) {
    table->field[column]->set_null();
  } else {
    table->field[column]->set_notnull();
    StoreText(table, column, text.c_str());
  }
}

void StoreNames(TABLE* table, int column, IndexId index) {
  const IndexNames names = g_engine->NamesOfIndex(index);
  StoreText(table, column, names.table.c_str());
  StoreText(table, column + 1, names.index.c_str());
}

const char* ModeName(LockMode mode) { return mode == LockMode::kShared ? "S" : "X"; }

ST_FIELD_INFO g_trx_columns[] = {NumberColumn("TRX_ID"),           TextColumn("TRX_STATE", 16),
                                 NumberColumn("TRX_UNDO_RECORDS"), NumberColumn("TRX_ROW_LOCKS"),
                                 TextColumn("TRX_WAITING", 4),     TextColumn("TRX_RECOVERED", 4),
                                 NumberColumn("TRX_THREAD_ID"),    LastColumn()};

int FillTrx(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  TABLE* table = tables->table;
  for (const TxnInfo& info : g_engine->Transactions()) {
    StoreNumber(table, 0, info.id.value());
    StoreText(table, 1, StateName(info.state));
    StoreNumber(table, 2, info.undo_records);
    StoreNumber(table, 3, info.locks);
    StoreText(table, 4, info.waiting ? "YES" : "NO");
    StoreText(table, 5, info.recovered ? "YES" : "NO");
    StoreNumber(table, 6, info.thread);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

ST_FIELD_INFO g_locks_columns[] = {NumberColumn("LOCK_TRX_ID"),
                                   NumberColumn("LOCK_INDEX_ID"),
                                   NumberColumn("LOCK_KEY_HASH"),
                                   TextColumn("LOCK_MODE", 4),
                                   TextColumn("LOCK_TYPE", 20),
                                   TextColumn("LOCK_STATUS", 8),
                                   NumberColumn("LOCK_THREAD_ID"),
                                   TextColumn("LOCK_TABLE", 2 * kNameBytesMax),
                                   TextColumn("LOCK_INDEX", kNameBytesMax),
                                   NullableTextColumn("LOCK_KEY", kKeyShownMax),
                                   LastColumn()};

int FillLocks(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  TABLE* table = tables->table;
  for (const LockInfo& info : g_engine->RowLocks(kLocksShownMax)) {
    StoreNumber(table, 0, info.owner.value());
    StoreNumber(table, 1, info.index.value());
    StoreNumber(table, 2, info.key_hash);
    StoreText(table, 3, ModeName(info.mode));
    StoreText(table, 4, KindName(info.kind));
    StoreText(table, 5, info.granted ? "GRANTED" : "WAITING");
    StoreNumber(table, 6, info.thread);
    StoreNames(table, 7, info.index);
    StoreKey(table, 9, info);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

ST_FIELD_INFO g_lock_waits_columns[] = {NumberColumn("WAITING_TRX_ID"),
                                        NumberColumn("WAITING_THREAD_ID"),
                                        TextColumn("WAITING_MODE", 4),
                                        TextColumn("WAITING_TYPE", 20),
                                        NumberColumn("BLOCKING_TRX_ID"),
                                        NumberColumn("BLOCKING_THREAD_ID"),
                                        TextColumn("BLOCKING_MODE", 4),
                                        TextColumn("BLOCKING_TYPE", 20),
                                        TextColumn("BLOCKING_STATUS", 8),
                                        TextColumn("LOCK_TABLE", 2 * kNameBytesMax),
                                        TextColumn("LOCK_INDEX", kNameBytesMax),
                                        NullableTextColumn("LOCK_KEY", kKeyShownMax),
                                        LastColumn()};

int FillLockWaits(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  TABLE* table = tables->table;
  for (const LockWaitInfo& info : g_engine->RowLockWaits(kLocksShownMax)) {
    int column = 0;
    for (const LockInfo* lock : {&info.waiting, &info.blocking}) {
      StoreNumber(table, column++, lock->owner.value());
      StoreNumber(table, column++, lock->thread);
      StoreText(table, column++, ModeName(lock->mode));
      StoreText(table, column++, KindName(lock->kind));
    }
    StoreText(table, column++, info.blocking.granted ? "GRANTED" : "WAITING");
    StoreNames(table, column, info.waiting.index);
    StoreKey(table, column + 2, info.waiting);
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

ST_FIELD_INFO g_latency_columns[] = {TextColumn("METHOD", 16), TextColumn("PHASE", 8),
                                     NumberColumn("ABOVE_US"), NumberColumn("UP_TO_US"),
                                     NumberColumn("COUNT"),    NumberColumn("TOTAL_COUNT"),
                                     NumberColumn("TOTAL_US"), LastColumn()};

/// One row for each bucket with something in it; the totals are those of method and phase.
int StoreHistogram(THD* thd, TABLE* table, LogSyncMethod method, LogPhase phase) {
  const LatencyHistogram& histogram = g_engine->LogLatency(method, phase);
  for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const uint64_t count = histogram.Count(bucket);
    if (count == 0) continue;
    StoreText(table, 0, LogSyncMethodName(method));
    StoreText(table, 1, LogPhaseName(phase));
    StoreNumber(table, 2, bucket == 0 ? 0 : LatencyHistogram::UpperBoundMicros(bucket - 1));
    StoreNumber(table, 3, LatencyHistogram::UpperBoundMicros(bucket));
    StoreNumber(table, 4, count);
    StoreNumber(table, 5, histogram.TotalCount());
    StoreNumber(table, 6, histogram.TotalMicros());
    if (schema_table_store_record(thd, table)) return 1;
  }
  return 0;
}

int FillSyncLatency(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  TABLE* table = tables->table;
  constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                        LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                        LogSyncMethod::kUring};
  for (const LogSyncMethod method : kMethods) {
    for (const LogPhase phase : {LogPhase::kWrite, LogPhase::kSync, LogPhase::kCommit}) {
      if (StoreHistogram(thd, table, method, phase) != 0) return 1;
    }
  }
  return 0;
}

int Describe(void* schema_table, ST_FIELD_INFO* columns, int (*fill)(THD*, Table_ref*, Item*)) {
  auto* schema = static_cast<ST_SCHEMA_TABLE*>(schema_table);
  schema->fields_info = columns;
  schema->fill_table = fill;
  return 0;
}

}  // namespace

int InitializeTrxTable(void* schema_table) {
  return Describe(schema_table, g_trx_columns, FillTrx);
}
int InitializeLocksTable(void* schema_table) {
  return Describe(schema_table, g_locks_columns, FillLocks);
}
int InitializeLockWaitsTable(void* schema_table) {
  return Describe(schema_table, g_lock_waits_columns, FillLockWaits);
}
int InitializeSyncLatencyTable(void* schema_table) {
  return Describe(schema_table, g_latency_columns, FillSyncLatency);
}
int DeinitializeTable(void*) { return 0; }

}  // namespace rowan
