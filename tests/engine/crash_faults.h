// SPDX-License-Identifier: GPL-2.0-only
// The kinds of faults that crash programs inject, and the check that a series met every one.
#pragma once

#include <cstdint>
#include <string>

#include "base/random.h"
#include "tests/engine/crash_context.h"
#include "tests/support/fault_file_system.h"

namespace rowan {

/// A fault of a kind that the engine's calls can meet, at the n-th such call of a round or of a
/// recovery with about `calls_max` calls in all.
InjectedFault DrawFault(Random* random, uint32_t calls_max);
/// A fault of a kind that a rollback of rows, or of DDL, meets; reads fail as long as it is there.
InjectedFault DrawRollbackFault(Random* random, RollbackOf of);
/// Whether the engine stops when a call meets the fault (docs/contracts/faults.md), as far as the
/// call and its file tell.
bool MayStop(const InjectedFault& fault);
/// A sync that fails, of one kind of file or of any.
InjectedFault DrawFailedSync(Random* random, uint32_t calls_max);

/// A fault of the queues of asynchronous requests that fails for good, at the next chance.
QueueFault DrawQueueFault(Random* random);

/// Kinds that these know and that fired less than once, one line each; empty: all fired.
std::string FaultsThatNeverFired();

}  // namespace rowan
