// SPDX-License-Identifier: GPL-2.0-only
// LockWaitHooks: what the host of the engine wants to know of waits for row locks. Null: nothing.
// Thread safety: functions without state of their own.
#pragma once

namespace rowan {

struct LockWaitHooks {
  /// Before and after a thread sleeps for a row lock, on that thread, nothing held: others could
  /// use its processor.
  void (*begin)() = nullptr;
  void (*end)() = nullptr;
  /// A replication worker must wait until another has ended its transaction; both are values of
  /// LockOwner::replica_worker. Called when the wait begins, and again from time to time. Both live
  /// until it returns. REQUIRES: it does not call the lock table.
  void (*worker_blocked)(void* waiter, void* holder) = nullptr;
};

}  // namespace rowan
