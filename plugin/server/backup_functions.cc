// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/backup_functions.h"

#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/auth/auth_acls.h"
#include "sql/auth/sql_security_ctx.h"
#include "sql/current_thd.h"
#include "sql/sql_class.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// What the function returns once the error has been raised.
long long Failed(unsigned char* error) {
  *error = 1;
  return 0;
}

long long Raise(const char* what, const Status& status, unsigned char* error) {
  my_printf_error(status.Is(Code::kInterrupted) ? ER_QUERY_INTERRUPTED : ER_INTERNAL_ERROR,
                  "%s: %s. The error log may say more.", MYF(0), what, status.message());
  return Failed(error);
}

bool MayBackUp(THD* thd) {
  if (thd->security_context()->has_global_grant(STRING_WITH_LEN("BACKUP_ADMIN")).first) return true;
  my_error(ER_SPECIFIC_ACCESS_DENIED_ERROR, MYF(0), "BACKUP_ADMIN");
  return false;
}

std::string TextOf(const UDF_ARGS* arguments, unsigned which) {
  const char* value = arguments->args[which];
  return value == nullptr ? std::string() : std::string(value, arguments->lengths[which]);
}

uint64_t NumberOf(const UDF_ARGS* arguments, unsigned which) {
  long long number = 0;
  if (arguments->args[which] != nullptr) {
    std::memcpy(&number, arguments->args[which], sizeof(number));
  }
  return number < 0 ? 0 : static_cast<uint64_t>(number);
}

bool InitializeBegin(UDF_INIT* init, UDF_ARGS* arguments, char* message) {
  if (arguments->arg_count < 3 || arguments->arg_count > 5) {
    return RefuseCall(message,
                      "ROWAN_BACKUP_BEGIN takes a folder, the folder of an earlier backup or NULL, "
                      "a number of bytes per second, and perhaps whether to leave out what "
                      "cannot be read and whether to clone");
  }
  arguments->arg_type[0] = STRING_RESULT;
  arguments->arg_type[1] = STRING_RESULT;
  for (unsigned i = 2; i < arguments->arg_count; ++i) arguments->arg_type[i] = INT_RESULT;
  init->maybe_null = false;
  init->const_item = false;
  return false;
}

long long BeginBackup(UDF_INIT*, UDF_ARGS* arguments, unsigned char*, unsigned char* error) {
  THD* thd = current_thd;
  ThdContext* context = MayBackUp(thd) ? ContextOf(thd) : nullptr;
  if (context == nullptr) return Failed(error);
  BackupOptions options;
  options.folder = TextOf(arguments, 0);
  options.base = TextOf(arguments, 1);
  options.bytes_per_second_max = NumberOf(arguments, 2);
  options.leave_out_unreadable = arguments->arg_count > 3 && NumberOf(arguments, 3) != 0;
  if (arguments->arg_count > 4 && NumberOf(arguments, 4) != 0) options.clone = CloneFile;
  if (context->backup != nullptr || options.folder.empty()) {
    const Status status(Code::kInvalidArgument, options.folder.empty()
                                                    ? "no folder is named"
                                                    : "this connection has a backup already");
    return Raise("ROWAN_BACKUP_BEGIN", status, error);
  }
  Result<std::unique_ptr<Backup>> begun = g_engine->BeginBackup(options);
  if (!begun.ok()) return Raise("ROWAN_BACKUP_BEGIN", begun.status(), error);
  const Status copied = begun.value()->CopyPages([thd] { return thd_killed(thd) != 0; });
  if (!copied.ok()) return Raise("ROWAN_BACKUP_BEGIN", copied, error);
  context->backup = std::move(begun).value();
  return static_cast<long long>(context->backup->start().value());
}

bool InitializeEnd(UDF_INIT* init, UDF_ARGS* arguments, char* message) {
  if (arguments->arg_count != 1) return RefuseCall(message, "ROWAN_BACKUP_END takes an LSN");
  arguments->arg_type[0] = INT_RESULT;
  init->maybe_null = false;
  init->const_item = false;
  return false;
}

long long End(UDF_INIT*, UDF_ARGS* arguments, unsigned char*, unsigned char* error) {
  THD* thd = current_thd;
  ThdContext* context = FindContext(thd);
  if (context == nullptr || context->backup == nullptr) {
    return Raise("ROWAN_BACKUP_END", Status(Code::kInvalidArgument, "there is no backup to end"),
                 error);
  }
  const std::unique_ptr<Backup> backup = std::move(context->backup);
  const Status status =
      backup->Finish(Lsn(NumberOf(arguments, 0)), [thd] { return thd_killed(thd) != 0; });
  if (!status.ok()) return Raise("ROWAN_BACKUP_END", status, error);
  return static_cast<long long>(backup->end().value());
}

long long Abandon(UDF_INIT*, UDF_ARGS*, unsigned char*, unsigned char*) {
  ThdContext* context = FindContext(current_thd);
  if (context == nullptr || context->backup == nullptr) return 0;
  context->backup.reset();
  return 1;
}

SqlFunction g_backup_functions[] = {
    {"rowan_backup_begin", BeginBackup, InitializeBegin},
    {"rowan_backup_end", End, InitializeEnd},
    {"rowan_backup_abandon", Abandon, InitializeWithoutArguments},
};

}  // namespace

std::span<SqlFunction> BackupFunctions() { return g_backup_functions; }

}  // namespace rowan
