// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/error_map.h"

#include <cerrno>
#include <string_view>

#include "my_base.h"
#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/sql_class.h"

#include "engine/catalog/limits.h"
#include "engine/engine.h"
#include "engine/sort/changed_rows.h"
#include "plugin/codec/spatial_entry.h"
#include "plugin/codec/table_layout.h"
#include "plugin/server/instance.h"
#include "plugin/server/system_variables.h"

namespace rowan {
namespace {

/// Codes that only need a number.
int PlainError(Code code) {
  switch (code) {
    case Code::kOk: return 0;
    case Code::kNotFound:
    case Code::kSkipped: return HA_ERR_KEY_NOT_FOUND;
    case Code::kDuplicate: return HA_ERR_FOUND_DUPP_KEY;
    case Code::kEndOfRange: return HA_ERR_END_OF_FILE;
    case Code::kTooBig: return HA_ERR_TOO_BIG_ROW;
    case Code::kTableChanged: return HA_ERR_TABLE_DEF_CHANGED;
    case Code::kUnsupported: return HA_ERR_UNSUPPORTED;
    case Code::kNoSpace: return HA_ERR_RECORD_FILE_FULL;
    case Code::kOutOfMemory: return HA_ERR_OUT_OF_MEM;
    case Code::kCorrupt: return HA_ERR_TABLE_CORRUPT;
    case Code::kNewerFormat: return kErrorNewerFormat;
    case Code::kStopped: return kErrorStopped;
    case Code::kReadOnly: return kErrorReadOnly;
    default: return kErrorInternal;
  }
}

/// The server's own sentences for this name no limit.
void RaiseTooBig(Status status) {
  const uint32_t page_size = g_engine->options().storage.page_size_bytes;
  if (status.message() == std::string_view(kKeyTooLong)) {
    my_error(ER_TOO_LONG_KEY, MYF(0), static_cast<int>(status.detail()));
    return;
  }
  if (status.message() == std::string_view(kTooManyChanges)) {
    my_printf_error(ER_INNODB_ONLINE_LOG_TOO_BIG,
                    "What others changed during the ALTER took more than "
                    "rowan_online_alter_log_max_size (%llu bytes). Please try again.",
                    MYF(0), static_cast<unsigned long long>(OnlineAlterLogBytesMax()));
    return;
  }
  const size_t most = RowBytesMax(page_size);
  my_error(ER_TOO_BIG_ROWSIZE, MYF(0), static_cast<long>(most));
}

}  // namespace

int HandlerError(THD* thd, Status status) {
  switch (status.code()) {
    case Code::kLockTimeout:
      thd_mark_transaction_to_rollback(thd, RollbackOnTimeout() ? 1 : 0);
      return HA_ERR_LOCK_WAIT_TIMEOUT;
    case Code::kDeadlock: thd_mark_transaction_to_rollback(thd, 1); return HA_ERR_LOCK_DEADLOCK;
    case Code::kInterrupted:
      // The server's own sentence for this handler error knows no limit on the execution time.
      if (thd_killed(thd) != 0) thd->send_kill_message();
      return HA_ERR_QUERY_INTERRUPTED;
    case Code::kIoError:
      // The disk of a DATA DIRECTORY is away (Engine::OpenTable); the error log has the path.
      return status.detail() == ENODEV ? HA_ERR_TABLESPACE_MISSING : kErrorIo;
    case Code::kLockTableFull:
      thd_mark_transaction_to_rollback(thd, 1);
      return HA_ERR_LOCK_TABLE_FULL;
    case Code::kLockNotAvailable:
      // The server has no message for this handler error: the engine raises it.
      my_error(ER_LOCK_NOWAIT, MYF(0));
      return HA_ERR_NO_WAIT_LOCK;
    case Code::kInvalidArgument:
      return status.message() == std::string_view(kNoGeometry) ? HA_ERR_NULL_IN_SPATIAL
                                                               : kErrorInternal;
    case Code::kTooBig: RaiseTooBig(status); return HA_ERR_TOO_BIG_ROW;
    case Code::kReadOnly:
      my_printf_error(ER_READ_ONLY_MODE,
                      "Running in read-only mode: Rowan was started with "
                      "rowan_force_recovery = 4, which changes nothing. Start it without to write.",
                      MYF(0));
      return kErrorReadOnly;
    default: return PlainError(status.code());
  }
}

std::string ErrorText(int handler_error) {
  switch (handler_error) {
    case kErrorIo: return "a file could not be read or written; the error log names it";
    case kErrorStopped:
      return "Rowan is stopped because a write or sync of its log or data failed; "
             "the error log says which. Restart the server to recover";
    case kErrorNewerFormat: return "the table was written by a newer version of Rowan";
    case kErrorReadOnly: return "Rowan is read-only";
    case kErrorInternal: return "the request could not be carried out; see the error log";
    default: return {};
  }
}

void RaiseNotSerializable() { my_error(ER_LOCK_DEADLOCK, MYF(0)); }

int RefuseUnsupported(const std::string& sentence) {
  my_printf_error(ER_CHECK_NOT_IMPLEMENTED, "Rowan does not support %s", MYF(0), sentence.c_str());
  return HA_ERR_UNSUPPORTED;
}

}  // namespace rowan
