// SPDX-License-Identifier: GPL-2.0-only
// The storage engine's entry points that are not about one open table, in three files: life of the
// plugin (handlerton.cc), transactions (handlerton_txn.cc), two-phase commit (handlerton_xa.cc).
#pragma once

#include "base/ids.h"
#include "engine/session.h"

struct handlerton;

namespace rowan {

/// For the plugin descriptor.
int InitializeEngine(void* hton);
/// Raises an error that says by what it is used, unless it can go at once.
int CheckUninstall(void* plugin);
int DeinitializeEngine(void* hton);

/// What hooks that return no error of the handler's return on failure.
inline constexpr int kFailed = 1;

void SetTransactionHooks(handlerton* hton);
void SetTwoPhaseHooks(handlerton* hton);
/// What was logged up to `end` is to become durable, or written, by the coordinator's next
/// flush_logs: what a session prepared, and commits that did not wait, since the binary log must
/// not go on to another file before they are.
void MakeDurableWithNextFlush(Lsn end, Durability durability);
/// For a plugin installed while the server runs, when the server no longer asks engines: adds the
/// prepared XA transactions of an earlier run to the server's list, with locks on the tables they
/// changed. False if it would not take one.
bool ShowPreparedToServer();

}  // namespace rowan
