// SPDX-License-Identifier: GPL-2.0-only
// LockOwner: the lock table's (mvcc/lock/lock_table.h) data in a transaction, and how the
// transaction wants to wait. Empty while no lock is held or asked for.
// Thread safety: used by the transaction's thread, except the members in the "shared" group.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

namespace rowan {

struct FoldedHoldings;
struct LockRequest;

/// Lock table entries of a transaction before the older ones become a set of hashes: short
/// transactions never reach it; 64 KiB.
inline constexpr uint32_t kFoldAtFirst = 1024;

struct LockOwner {
  uint32_t wait_timeout_s = 50;
  bool deadlock_detect = true;
  /// Key of the request that it waited for last; written and read under its bucket's latch.
  std::string queued_key;
  LockRequest* queued = nullptr;     ///< asked for by LockTable::TryLock, not waited for yet
  FoldedHoldings* folded = nullptr;  ///< its locks without entries, a list by index
  uint32_t fold_at = kFoldAtFirst;   ///< entries at which the lock table folds the older ones

  // Shared.
  std::atomic<bool> chosen_as_victim{false};       ///< it must give up, to end a deadlock
  std::atomic<LockRequest*> waiting_for{nullptr};  ///< the published edge, set while it sleeps
  std::atomic<LockRequest*> newest{nullptr};       ///< granted and waiting requests, newest first
  std::atomic<uint32_t> request_count{0};          ///< of them
  std::atomic<uint64_t> folded_count{0};  ///< records locked without an entry; its thread writes
  /// The replication worker that runs it, null for other sessions; changed only under the lock
  /// table's wait-graph mutex, by LockTable::SetReplicaWorker.
  void* replica_worker = nullptr;
  uint64_t search_mark = 0;  ///< guarded by the lock table's wait-graph mutex

  /// Requests and records locked without one.
  [[nodiscard]] uint64_t count() const {
    return request_count.load(std::memory_order_relaxed) +
           folded_count.load(std::memory_order_relaxed);
  }
};

}  // namespace rowan
