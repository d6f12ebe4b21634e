// SPDX-License-Identifier: GPL-2.0-only
// rowan_binlog_in_redo: with sync_binlog = 0, the end of the newest binary log file is durable in
// the redo log, so that a group of commits takes one sync instead of two (docs/binlog.md).
//
// The server's group commit, under LOCK_log: flush_logs (DefersToBinlog: no sync), events written
// to the file, hook after_flush (the file's new bytes are logged; one sync), and only then dump
// threads see the events and the engines commit.
// Thread safety: all.
#pragma once

#include "base/status.h"

class THD;

namespace rowan {

class Engine;

/// Before the server and ResolveInDoubt read the binary log: brings the file that the last run
/// carried to where it ends according to the redo log. Errors are logged; nothing is lost.
Status RestoreBinlogTail(Engine* engine);

/// In flush_logs for a group: what the group prepared becomes durable by the hook that follows, so
/// it need not be now. Begins or ends carrying as the settings ask.
[[nodiscard]] bool DefersToBinlog(THD* thd);

/// RESET BINARY LOGS removes the files.
void ForgetBinlog();

/// Before the engine stops.
void StopCarryingBinlog();

}  // namespace rowan
