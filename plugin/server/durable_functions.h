// SPDX-License-Identifier: GPL-2.0-only
// SQL functions that tell a session that does not wait for the disk what is durable:
//   ROWAN_DURABLE_LSN()           the redo log is now durable up to here
//   ROWAN_SESSION_LSN()           end of this session's newest commit; 0 if it has none
//   ROWAN_WAIT_DURABLE(lsn, s)    1 once the log is durable up to lsn, 0 after s seconds, NULL
//                                 if an argument is NULL or the statement was killed
// Registered with the server while the plugin is installed. Thread safety: the two functions below
// from plugin initialisation and deinitialisation only.
#pragma once

#include <span>

#include "plugin/server/sql_functions.h"

namespace rowan {

std::span<SqlFunction> DurableFunctions();

}  // namespace rowan
