// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/durable_functions.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstring>
#include <string>

#include "my_sys.h"
#include "mysql/plugin.h"
#include "mysqld_error.h"
#include "sql/current_thd.h"
#include "sql/sql_class.h"

#include "engine/engine.h"
#include "plugin/server/instance.h"
#include "plugin/server/thd_context.h"

namespace rowan {
namespace {

/// Longer than any statement lives; keeps the arithmetic in nanoseconds within 64 bits.
constexpr double kSecondsMax = 1e9;

long long DurableLsn(UDF_INIT*, UDF_ARGS*, unsigned char*, unsigned char*) {
  return static_cast<long long>(g_engine->durable_lsn().value());
}

long long SessionLsn(UDF_INIT*, UDF_ARGS*, unsigned char*, unsigned char*) {
  const ThdContext* context = FindContext(current_thd);
  if (context == nullptr) return 0;
  return static_cast<long long>(context->session->last_commit_lsn().value());
}

bool InitializeWait(UDF_INIT* init, UDF_ARGS* arguments, char* message) {
  if (arguments->arg_count != 2) {
    return RefuseCall(message, "ROWAN_WAIT_DURABLE takes an LSN and a number of seconds");
  }
  // Text stays text: the server would silently take what is no number for 0.
  if (arguments->arg_type[0] != STRING_RESULT) arguments->arg_type[0] = INT_RESULT;
  if (arguments->arg_type[1] != STRING_RESULT) arguments->arg_type[1] = REAL_RESULT;
  init->maybe_null = true;
  init->const_item = false;
  return false;
}

/// The argument as a number; false, with the error raised, when it is text that is none.
template <typename Number>
bool ReadArgument(const UDF_ARGS* arguments, unsigned which, const char* what, Number* number) {
  const char* value = arguments->args[which];
  if (arguments->arg_type[which] != STRING_RESULT) {
    std::memcpy(number, value, sizeof(*number));
    return true;
  }
  const char* end = value + arguments->lengths[which];
  const auto [stop, error] = std::from_chars(value, end, *number);
  if (error == std::errc() && stop == end) return true;
  my_error(ER_WRONG_VALUE, MYF(0), what, std::string(value, end).c_str());
  return false;
}

long long WaitDurable(UDF_INIT*, UDF_ARGS* arguments, unsigned char* is_null,
                      unsigned char* error) {
  *is_null = 1;
  if (arguments->args[0] == nullptr || arguments->args[1] == nullptr) return 0;
  long long lsn = 0;
  double seconds = 0;
  if (!ReadArgument(arguments, 0, "LSN", &lsn) ||
      !ReadArgument(arguments, 1, "number of seconds", &seconds)) {
    *error = 1;
    return 0;
  }
  if (lsn < 0 || std::isnan(seconds)) {
    *error = 1;
    return 0;
  }
  const double nanos = std::clamp(seconds, 0.0, kSecondsMax) * 1e9;
  THD* thd = current_thd;
  const Status status =
      g_engine->WaitDurableFor(Lsn(static_cast<uint64_t>(lsn)), static_cast<uint64_t>(nanos),
                               [thd] { return thd_killed(thd) != 0; });
  *is_null = status.Is(Code::kInterrupted) ? 1 : 0;
  if (status.Is(Code::kStopped)) *error = 1;
  return status.ok() ? 1 : 0;
}

SqlFunction g_durable_functions[] = {
    {"rowan_durable_lsn", DurableLsn, InitializeWithoutArguments},
    {"rowan_session_lsn", SessionLsn, InitializeWithoutArguments},
    {"rowan_wait_durable", WaitDurable, InitializeWait},
};

}  // namespace

std::span<SqlFunction> DurableFunctions() { return g_durable_functions; }

}  // namespace rowan
