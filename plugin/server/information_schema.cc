// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/information_schema.h"

#include <string>

#include "sql/sql_class.h"
#include "sql/table.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/schema_table.h"

namespace rowan {
namespace {

constexpr size_t kLocksShownMax = 100000;

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

/// A key; [from, to) for a range; empty when no transaction waits for the lock, so that only a hash
/// of its key is kept.
std::string KeyOf(const LockInfo& info) {
  const std::string text = KeyText(info.key);
  if (info.kind != LockKind::kNextKey) return text;
  return "[" + text + ", " + KeyText(info.range_end) + ")";
}

const char* ModeName(LockMode mode) { return mode == LockMode::kShared ? "S" : "X"; }

ST_FIELD_INFO g_trx_columns[] = {NumberColumn("TRX_ID"),           TextColumn("TRX_STATE", 16),
                                 NumberColumn("TRX_UNDO_RECORDS"), NumberColumn("TRX_ROW_LOCKS"),
                                 TextColumn("TRX_WAITING", 4),     TextColumn("TRX_RECOVERED", 4),
                                 NumberColumn("TRX_THREAD_ID"),    LastColumn()};

int FillTrx(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  for (const TxnInfo& info : g_engine->Transactions()) {
    rows.Number(info.id.value()).Text(StateName(info.state)).Number(info.undo_records);
    rows.Number(info.locks).YesOrNo(info.waiting).YesOrNo(info.recovered).Number(info.thread);
    if (rows.Store()) return 1;
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
                                   TextColumn("LOCK_TABLE", kTableNameCharactersMax),
                                   TextColumn("LOCK_INDEX", kNameCharactersMax),
                                   NullableTextColumn("LOCK_KEY", kKeyShownMax),
                                   LastColumn()};

int FillLocks(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  for (const LockInfo& info : g_engine->RowLocks(kLocksShownMax)) {
    const IndexNames names = g_engine->NamesOfIndex(info.index);
    rows.Number(info.owner.value()).Number(info.index.value()).Number(info.key_hash);
    rows.Text(ModeName(info.mode)).Text(KindName(info.kind));
    rows.Text(info.granted ? "GRANTED" : "WAITING").Number(info.thread);
    rows.Text(names.table).Text(names.index).TextOrNull(KeyOf(info));
    if (rows.Store()) return 1;
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
                                        TextColumn("LOCK_TABLE", kTableNameCharactersMax),
                                        TextColumn("LOCK_INDEX", kNameCharactersMax),
                                        NullableTextColumn("LOCK_KEY", kKeyShownMax),
                                        LastColumn()};

int FillLockWaits(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  for (const LockWaitInfo& info : g_engine->RowLockWaits(kLocksShownMax)) {
    for (const LockInfo* lock : {&info.waiting, &info.blocking}) {
      rows.Number(lock->owner.value()).Number(lock->thread);
      rows.Text(ModeName(lock->mode)).Text(KindName(lock->kind));
    }
    const IndexNames names = g_engine->NamesOfIndex(info.waiting.index);
    rows.Text(info.blocking.granted ? "GRANTED" : "WAITING");
    rows.Text(names.table).Text(names.index).TextOrNull(KeyOf(info.waiting));
    if (rows.Store()) return 1;
  }
  return 0;
}

ST_FIELD_INFO g_latency_columns[] = {TextColumn("METHOD", 16), TextColumn("PHASE", 8),
                                     NumberColumn("ABOVE_US"), NumberColumn("UP_TO_US"),
                                     NumberColumn("COUNT"),    NumberColumn("TOTAL_COUNT"),
                                     NumberColumn("TOTAL_US"), LastColumn()};

/// One row for each bucket with something in it; the totals are those of method and phase.
bool StoreHistogram(SchemaRows* rows, LogSyncMethod method, LogPhase phase) {
  const LatencyHistogram& histogram = g_engine->LogLatency(method, phase);
  for (size_t bucket = 0; bucket < LatencyHistogram::kBuckets; ++bucket) {
    const uint64_t count = histogram.Count(bucket);
    if (count == 0) continue;
    rows->Text(LogSyncMethodName(method)).Text(LogPhaseName(phase));
    rows->Number(bucket == 0 ? 0 : LatencyHistogram::UpperBoundMicros(bucket - 1));
    rows->Number(LatencyHistogram::UpperBoundMicros(bucket)).Number(count);
    rows->Number(histogram.TotalCount()).Number(histogram.TotalMicros());
    if (rows->Store()) return true;
  }
  return false;
}

int FillSyncLatency(THD* thd, Table_ref* tables, Item*) {
  if (!MayLook(thd)) return 0;
  SchemaRows rows(thd, tables->table);
  constexpr LogSyncMethod kMethods[] = {LogSyncMethod::kFsync, LogSyncMethod::kFdatasync,
                                        LogSyncMethod::kDsync, LogSyncMethod::kDirectDsync,
                                        LogSyncMethod::kUring};
  for (const LogSyncMethod method : kMethods) {
    for (const LogPhase phase : {LogPhase::kWrite, LogPhase::kSync, LogPhase::kCommit}) {
      if (StoreHistogram(&rows, method, phase)) return 1;
    }
  }
  return 0;
}

}  // namespace

int InitializeTrxTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_trx_columns, FillTrx);
}
int InitializeLocksTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_locks_columns, FillLocks);
}
int InitializeLockWaitsTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_lock_waits_columns, FillLockWaits);
}
int InitializeSyncLatencyTable(void* schema_table) {
  return DescribeSchemaTable(schema_table, g_latency_columns, FillSyncLatency);
}
int DeinitializeTable(void*) { return 0; }

}  // namespace rowan
