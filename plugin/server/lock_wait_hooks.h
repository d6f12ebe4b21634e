// SPDX-License-Identifier: GPL-2.0-only
// What the engine reports to the server about waits for row locks. Thread safety: all functions.
#pragma once

#include "engine/options.h"

class THD;

namespace rowan {

/// For Engine::Open.
LockWaitHooks ServerLockWaitHooks();
/// Call after the engine is closed.
void ForgetLockWaits();
/// The session as passed to hooks: null unless it is a worker of a replica that applies
/// transactions concurrently with others.
void* ReplicaWorkerOf(THD* thd);

}  // namespace rowan
