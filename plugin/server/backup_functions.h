// SPDX-License-Identifier: GPL-2.0-only
// SQL functions with which scripts/backup makes the running server copy its Rowan instance:
//
//   ROWAN_BACKUP_BEGIN(folder, base, bytes_per_second [, leave_out [, clone]])  copies all pages,
//       and the redo log from now on; `base` is the folder of an earlier backup or NULL,
//       `bytes_per_second` 0 for no limit; `leave_out` 1 leaves out tables whose files cannot be
//       read, instead of failing; `clone` 1 clones tablespaces where the file system can. Returns
//       the LSN at which redo will begin.
//   ROWAN_BACKUP_END(lsn)   ends the backup at a log position, as in log_status; 0: now. Returns
//       the position.
//   ROWAN_BACKUP_ABANDON()  abandons it, as the end of the connection does. 1 if there was one.
//
// A connection has at most one backup. The functions require the privilege BACKUP_ADMIN and do not
// block DDL: LOCK INSTANCE FOR BACKUP does. Details: docs/backup.md.
#pragma once

#include <span>

#include "plugin/server/sql_functions.h"

namespace rowan {

std::span<SqlFunction> BackupFunctions();

}  // namespace rowan
