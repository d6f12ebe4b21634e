// SPDX-License-Identifier: GPL-2.0-only
// Transactions that a crash left prepared, when the server has since been started without Rowan.
//
// The server decides prepared transactions when it starts, from the newest binary log file if that
// was not closed (without a binary log: from the coordinator's file). A start without Rowan does
// that for the other engines and closes the file; afterwards the server would leave ours undecided,
// or take them for rolled back. So every prepared transaction carries a run mark: the number of the
// last binary log file older than its run. At our next start the mark leads to the last file of
// that run, which has the outcome.
//
// DDL that goes to no binary log (OPTIMIZE, sql_log_bin=0) is decided by the server's dictionary:
// it commits first, and durably (handlerton_txn.cc).
//
// This covers only transactions that the server itself coordinates; XA transactions stay prepared
// until their owner decides. Thread safety: plugin initialisation; RunMark afterwards from any
// thread.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "engine/engine.h"

namespace rowan {

inline constexpr uint32_t kMarkWithoutBinlog = UINT32_MAX;

/// What to do with transactions whose outcome is no longer recorded anywhere.
enum class InDoubtPolicy : uint8_t { kRefuse, kCommit, kRollback };

/// Commits or rolls back what the server will not decide; what it will decide at this start stays
/// prepared. Failures have been logged with a sentence that says what to do. `at_run_time`: INSTALL
/// PLUGIN, not a server start.
Status ResolveInDoubt(Engine* engine, InDoubtPolicy policy, bool at_run_time);

/// Mark of this run of the server.
uint32_t RunMark();

}  // namespace rowan
