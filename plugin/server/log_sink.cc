// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/log_sink.h"

#define LOG_COMPONENT_TAG "rowan"
#undef LOG_SUBSYSTEM_TAG  // the server's own, where another of its headers has come before
#define LOG_SUBSYSTEM_TAG "Rowan"

#include "mysql/components/services/log_builtins.h"
#include "mysqld_error.h"

#include "base/logging.h"

SERVICE_TYPE(registry) * reg_srv = nullptr;
SERVICE_TYPE(log_builtins) * log_bi = nullptr;
SERVICE_TYPE(log_builtins_string) * log_bs = nullptr;

namespace rowan {
namespace {

loglevel ServerLevel(LogLevel level) {
  switch (level) {
    case LogLevel::kError: return ERROR_LEVEL;
    case LogLevel::kWarning: return WARNING_LEVEL;
    default: return INFORMATION_LEVEL;
  }
}

void WriteToServer(LogLevel level, std::string_view message) {
  LogEvent()
      .prio(level == LogLevel::kInfo ? static_cast<int>(SYSTEM_LEVEL)
                                     : static_cast<int>(ServerLevel(level)))
      .errcode(ER_LOG_PRINTF_MSG)
      .subsys(LOG_SUBSYSTEM_TAG)
      .component("plugin:" LOG_COMPONENT_TAG)
      .message("%.*s", static_cast<int>(message.size()), message.data());
}

}  // namespace

bool OpenLogSink() {
  if (init_logging_service_for_plugin(&reg_srv, &log_bi, &log_bs)) return false;
  SetLogSink(WriteToServer);
  return true;
}

void CloseLogSink() {
  SetLogSink({});
  deinit_logging_service_for_plugin(&reg_srv, &log_bi, &log_bs);
}

}  // namespace rowan
