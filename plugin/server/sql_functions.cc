// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/sql_functions.h"

#include <array>
#include <cstring>

#include "mysql/components/my_service.h"
#include "mysql/components/services/udf_registration.h"
#include "mysql/plugin.h"
#include "mysql/service_plugin_registry.h"
#include "mysql_com.h"

#include "base/logging.h"
#include "plugin/server/backup_functions.h"
#include "plugin/server/durable_functions.h"

namespace rowan {
namespace {

/// The server's registration service for as long as it is needed.
class Registration {
 public:
  Registration()
      : registry_(mysql_plugin_registry_acquire()), service_("udf_registration", registry_) {}
  ~Registration() { mysql_plugin_registry_release(registry_); }
  Registration(const Registration&) = delete;
  Registration& operator=(const Registration&) = delete;

  bool Add(SqlFunction* function) {
    if (!service_.is_valid()) return false;
    function->registered = !service_->udf_register(function->name, INT_RESULT,
                                                   reinterpret_cast<Udf_func_any>(function->body),
                                                   function->initialize, nullptr);
    return function->registered;
  }
  /// False if a statement uses it.
  bool Remove(SqlFunction* function) {
    int present = 0;
    if (!service_.is_valid()) return false;
    function->registered = service_->udf_unregister(function->name, &present) && present != 0;
    return !function->registered;
  }

 private:
  SERVICE_TYPE(registry) * registry_;
  my_service<SERVICE_TYPE(udf_registration)> service_;
};

std::array<std::span<SqlFunction>, 2> AllFunctions() {
  return {DurableFunctions(), BackupFunctions()};
}

void RemoveAll(Registration* registration) {
  for (const std::span<SqlFunction> functions : AllFunctions()) {
    for (SqlFunction& function : functions) {
      if (function.registered) registration->Remove(&function);
    }
  }
}

}  // namespace

bool RefuseCall(char* message, const char* text) {
  std::strncpy(message, text, MYSQL_ERRMSG_SIZE - 1);
  message[MYSQL_ERRMSG_SIZE - 1] = '\0';
  return true;
}

bool InitializeWithoutArguments(UDF_INIT* init, UDF_ARGS* arguments, char* message) {
  if (arguments->arg_count != 0) return RefuseCall(message, "this function takes no arguments");
  init->maybe_null = false;
  init->const_item = false;
  return false;
}

bool RegisterFunctions() {
  Registration registration;
  for (const std::span<SqlFunction> functions : AllFunctions()) {
    for (SqlFunction& function : functions) {
      if (function.registered || registration.Add(&function)) continue;
      LogError("The SQL function {} cannot be registered; a function of this name may exist.",
               function.name);
      RemoveAll(&registration);
      return false;
    }
  }
  return true;
}

bool UnregisterFunctions() {
  bool unused = true;
  {
    Registration registration;
    for (const std::span<SqlFunction> functions : AllFunctions()) {
      for (SqlFunction& function : functions) {
        if (unused && function.registered) unused = registration.Remove(&function);
      }
    }
  }
  if (!unused) RegisterFunctions();
  return unused;
}

}  // namespace rowan
