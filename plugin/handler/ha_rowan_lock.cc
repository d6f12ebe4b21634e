// SPDX-License-Identifier: GPL-2.0-only
// Where a statement begins and ends for one table, and how its reads lock.
#include "plugin/server/abi_guard.h"

#include "plugin/handler/ha_rowan.h"

#include "mysql/plugin.h"
#include "sql/sql_class.h"
#include "sql/sql_lex.h"

#include "plugin/compat/server_line.h"
#include "plugin/handler/discarded_table.h"
#include "plugin/handler/foreign_keys.h"
#include "plugin/handler/table_transport.h"
#include "plugin/server/error_map.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// Statements that change rows depending on what they read in other tables: at REPEATABLE READ and
/// above those reads lock, so no change is based on rows that others change meanwhile.
bool ChangesRowsByReading(int command) {
  switch (command) {
    case SQLCOM_INSERT:
    case SQLCOM_INSERT_SELECT:
    case SQLCOM_REPLACE:
    case SQLCOM_REPLACE_SELECT:
    case SQLCOM_UPDATE:
    case SQLCOM_UPDATE_MULTI:
    case SQLCOM_DELETE:
    case SQLCOM_DELETE_MULTI:
    case SQLCOM_LOAD:
    case SQLCOM_CREATE_TABLE: return true;
    default: return false;
  }
}

WaitPolicy PolicyOf(const TABLE* table) {
  const Table_ref* reference = table->pos_in_table_list;
  if (reference == nullptr) return WaitPolicy::kWait;
  switch (reference->lock_descriptor().action) {
    case THR_NOWAIT: return WaitPolicy::kNoWait;
    case THR_SKIP: return WaitPolicy::kSkipLocked;
    default: return WaitPolicy::kWait;
  }
}

}  // namespace

THR_LOCK_DATA** ha_rowan::store_lock(THD*, THR_LOCK_DATA** to, thr_lock_type lock_type) {
  if (lock_type != TL_IGNORE) lock_type_ = lock_type;
  return to;
}

ReadMode ha_rowan::ModeFor(THD* thd, thr_lock_type lock_type, bool writes) const {
  // No other session has the table: its rows are read as they are and need no locks.
  if (part_->is_temporary()) return ReadMode::kReadUncommitted;
  if (writes) return ReadMode::kLockExclusive;
  if (lock_type == TL_READ_WITH_SHARED_LOCKS) return ReadMode::kLockShared;
  const IsolationLevel isolation = session_->isolation();
  if (isolation >= IsolationLevel::kRepeatableRead && ChangesRowsByReading(thd_sql_command(thd))) {
    return ReadMode::kLockShared;
  }
  if (isolation == IsolationLevel::kSerializable && !session_->optimistic() &&
      thd_test_options(thd, OPTION_NOT_AUTOCOMMIT | OPTION_BEGIN) != 0) {
    return ReadMode::kLockShared;
  }
  return isolation == IsolationLevel::kReadUncommitted ? ReadMode::kReadUncommitted
                                                       : ReadMode::kSnapshot;
}

int ha_rowan::EnterStatementAs(THD* thd, thr_lock_type lock_type, bool writes) {
  if (part_->share()->discarded() && !MayUseDiscarded(thd)) {
    return RefuseDiscarded(table_share->table_name.str);
  }
  int error = CheckUsable(*engine_table(), writes);
  if (error == 0) error = BeginUse(thd, lock_type, writes);
  if (error == 0) AttachReader();
  return error;
}

int ha_rowan::BeginUse(THD* thd, thr_lock_type lock_type, bool writes) {
  ThdContext* context = ContextOf(thd);
  const Status status = EnterStatement(thd, context);
  if (!status.ok()) return HandlerError(thd, status);
  session_ = context->session.get();
  if (part_->is_temporary()) {
    const Result<Session*> part = session_->Temporary();
    if (!part.ok()) return HandlerError(thd, part.status());
    session_ = part.value();
  }
  writes_ = writes;
  unchecked_keys_ = writes ? UncheckedForeignKeys(thd, *table_share) : UncheckedKeys::kNone;
  read_options_.mode = ModeFor(thd, lock_type, writes);
  read_options_.wait_policy = PolicyOf(table);
  read_options_.lock_gaps = session_->isolation() >= IsolationLevel::kRepeatableRead;
  return 0;
}

void ha_rowan::AttachReader() {
  part_->scan.prepared = false;
  if (reader()->scan_open()) reader()->Suspend();  // HANDLER under LOCK TABLES
  reader()->SetSession(session_, read_options_);
}

void ha_rowan::SuspendScans() {
  if (reader()->scan_open()) reader()->Suspend();
}

int ha_rowan::external_lock(THD* thd, int lock_type) {
  if (lock_type == F_UNLCK) {
    SuspendScans();
    RemoveExports(&exported_files_);
    session_ = nullptr;
    return 0;
  }
  return EnterStatementAs(thd, lock_type_, lock_type == F_WRLCK);
}

int ha_rowan::start_stmt(THD* thd, thr_lock_type lock_type) {
  return EnterStatementAs(thd, lock_type, lock_type >= TL_WRITE_ALLOW_WRITE);
}

void ha_rowan::ReadAs(ReadMode mode) {
  read_options_.mode = mode;
  reader()->SetSession(session_, read_options_);
}

/// Every statement asks several times for something that does not matter here.
int ha_rowan::extra(ha_extra_function operation) {
  switch (operation) {
    case HA_EXTRA_KEYREAD:
    case HA_EXTRA_NO_KEYREAD:
      key_read_.asked = operation == HA_EXTRA_KEYREAD;
      part_->scan.prepared = false;
      return 0;
    case HA_EXTRA_INSERT_WITH_UPDATE:
    case HA_EXTRA_WRITE_CAN_REPLACE: duplicate_mode_ = LockMode::kExclusive; return 0;
    case HA_EXTRA_WRITE_CANNOT_REPLACE: duplicate_mode_ = LockMode::kShared; return 0;
    case HA_EXTRA_EXPORT:
    case HA_EXTRA_BEGIN_ALTER_COPY: return RareExtra(operation);
    default:
      if (AsksForRecordLocks(operation) || EndsRecordLocks(operation)) return RareExtra(operation);
      return 0;
  }
}

int ha_rowan::RareExtra(ha_extra_function operation) {
  switch (operation) {
    case HA_EXTRA_EXPORT: return TableTransport(table, part_->share()).Export(&exported_files_);
    case HA_EXTRA_BEGIN_ALTER_COPY: return BeginLoad(kLoadMemoryBytes);
    default: break;
  }
  if (AsksForRecordLocks(operation)) ReadAs(ReadMode::kLockShared);
  if (EndsRecordLocks(operation)) ReadAs(ModeFor(ha_thd(), lock_type_, writes_));
  return 0;
}

int ha_rowan::reset() {
  sorted_ranges_.reset();
  second_ = nullptr;
  references_ahead_ = {};
  key_read_.asked = false;
  searches_text_ = false;
  duplicate_mode_ = LockMode::kShared;
  groups_.SetPlan(nullptr);
  row_plan_.reset();
  block_rows_.reset();
  estimated_.estimates.Clear();
  part_->EndStatement(ha_thd());
  return 0;
}

void ha_rowan::unlock_row() {
  if (session_ == nullptr || session_->isolation() > IsolationLevel::kReadCommitted) return;
  reader()->UnlockCurrent();
}

void ha_rowan::try_semi_consistent_read(bool yes) {
  if (session_ == nullptr) return;
  reader()->SetSemiConsistent(yes && session_->isolation() <= IsolationLevel::kReadCommitted);
}

bool ha_rowan::was_semi_consistent_read() {
  return session_ != nullptr && reader()->WillReadAgain();
}

void ha_rowan::column_bitmaps_signal() {
  part_->scan.prepared = false;
  // IndexRangeScanIterator::init_ror_merged_scan() sets, and signals, its set of columns before it
  // has any memory; another signal follows before the next read.
  if (table->read_set->bitmap == nullptr) return;
  if (groups_.is_open()) return;  // prepares itself before it reads
  if (reader() != nullptr && session_ != nullptr) PrepareRead();
}

}  // namespace rowan
