// SPDX-License-Identifier: GPL-2.0-only
// rowan_binlog_in_redo: with sync_binlog = 0, the end of the newest binary log file is durable in
// the redo log, so that a group of commits takes one sync instead of two (docs/binlog.md).
//
// The server's group commit, under LOCK_log: flush_logs (DefersToBinlog: no sync), events written
// to the file, hook after_flush (the file's new bytes are logged; one sync), and only then dump
// threads see the events and the engines commit. Not every group is announced to flush_logs by a
// thread that it can recognise, and settings change in between, so after_flush decides by what it
// finds: a group that is not carried has its file synced, after the log.
// Thread safety: all.
#pragma once

#include "sql/transaction_info.h"

class THD;

namespace rowan {

/// The binary log has events of the statement or of the whole transaction.
[[nodiscard]] bool GoesToBinlog(THD* thd, Transaction_ctx::enum_trx_scope scope);

/// In flush_logs for a group: what the group prepared becomes durable by the hook that follows, so
/// it need not be now. Begins or ends carrying as the settings ask.
[[nodiscard]] bool DefersToBinlog(THD* thd);

/// Registers the hooks if the setting asks for them. Not under locks of the server.
void ObserveBinlog();

/// Tells the session that set rowan_binlog_in_redo that sync_binlog keeps it from acting.
void WarnIfBinlogIsSynced(THD* thd);

/// The server has closed its binary log, or removes files: nothing of it is carried any more.
void EndCarryingBinlog();
/// The same once the server logs nothing; cheap otherwise.
void EndCarryingClosedBinlog();

/// Before the plugin may go: the hooks as well.
void StopCarryingBinlog();

}  // namespace rowan
