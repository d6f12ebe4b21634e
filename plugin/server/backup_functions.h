// SPDX-License-Identifier: GPL-2.0-only
// SQL functions by which scripts/backup has the server copy its Rowan instance while it runs:
//
//   ROWAN_BACKUP_BEGIN(folder, base, bytes_per_second [, leave_out])  copies all pages, and the
//       redo log from now on; `base` is the folder of an earlier backup or NULL, `bytes_per_second`
//       0 for no limit; `leave_out` 1 leaves tables out whose files cannot be read, instead of
//       failing. Returns the LSN that redo will begin at.
//   ROWAN_BACKUP_END(lsn)   ends the backup at a position of the log, as log_status has it; 0: now.
//       Returns the position.
//   ROWAN_BACKUP_ABANDON()  gives it up; so does the end of the connection. 1 if there was one.
//
// A connection has one backup at most. They need the privilege BACKUP_ADMIN and do not keep DDL
// away: LOCK INSTANCE FOR BACKUP does. docs/backup.md tells the whole.
#pragma once

#include <span>

#include "plugin/server/sql_functions.h"

namespace rowan {

std::span<SqlFunction> BackupFunctions();

}  // namespace rowan
