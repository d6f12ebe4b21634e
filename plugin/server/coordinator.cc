// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/server/abi_guard.h"

#include "plugin/server/coordinator.h"

#include "mysql/plugin.h"
#include "sql/handler.h"
#include "sql/mysqld.h"
#include "sql/sql_class.h"
#include "sql/tc_log.h"
#include "sql/xa.h"

#include "base/logging.h"

namespace rowan {

bool InstalledAtRunTime() {
  THD* thd = current_thd;
  return thd != nullptr && thd_sql_command(thd) == SQLCOM_INSTALL_PLUGIN;
}

bool EnsureLoggingCoordinator() {
  if (opt_bin_log || tc_log != &tc_log_dummy) return true;
  // The coordinator's file says with how many engines it was made. The server counts this one only
  // after it was initialised. Nothing is prepared anywhere: one engine alone commits directly.
  ++total_ha_2pc;
  // The server sets a heuristic for itself when it starts with a single engine.
  tc_heuristic_recover = TC_HEURISTIC_NOT_USED;
  const bool failed = tc_log_mmap.open(opt_tc_log_file) != 0;
  --total_ha_2pc;
  if (failed) {
    LogError(
        "The server's transaction coordinator log '{}' cannot be opened. Rowan needs it when "
        "it is installed into a running server without a binary log.",
        opt_tc_log_file);
    return false;
  }
  tc_log = &tc_log_mmap;
  return true;
}

}  // namespace rowan
