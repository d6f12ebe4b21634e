// SPDX-License-Identifier: GPL-2.0-only
// Inside of the transaction manager; used by txn_manager*.cc only.
#pragma once

#include <array>
#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/latch.h"
#include "mvcc/txn/active_writers.h"
#include "mvcc/txn/commit_ring.h"
#include "mvcc/txn/snapshot_registry.h"
#include "mvcc/txn_manager.h"

namespace rowan {

struct TxnManager::Impl {
  Impl(UndoStreams* undo_streams, Log* redo_log, const TxnManagerOptions& options)
      : undo(undo_streams),
        log(redo_log),
        temporary(options.temporary),
        shutdown_sign(options.shutdown_sign),
        ring(options.ring_size),
        locks(options.lock_memory_bytes_max) {
    locks.SetShutdownSign(shutdown_sign);
  }

  // --- ids (txn_manager.cc) ---
  /// Next id, claimed in the ring; kNoTxn when ids have to be reserved first.
  TxnId TakeId(bool* reserve_soon);
  Status ReserveIds();

  // --- ends (txn_manager_commit.cc) ---
  /// Behind the commit record or the last undone record: outcome, registry, locks, in this order.
  void End(Txn* txn, TxnOutcome outcome);
  static void Reset(Txn* txn, TxnState state);
  /// Ends a transaction that left nothing in the undo log.
  void EndWithoutUndo(Txn* txn, TxnState state);
  /// A commit that failed with `status`: stops the engine if it had been promised.
  Status NotCommitted(const Txn& txn, const Status& status);
  /// Of a temporary transaction, behind End: what it left for purge.
  void PurgeCommitted(const Txn* txn);  // REQUIRES: its stream not returned
  Status UndoDownTo(Txn* txn, const UndoPosition& position, WorkBudget* budget);
  /// kBusy: the budget was used up, the transaction is active with fewer records.
  Status UndoEverything(Txn* txn, WorkBudget* budget);
  /// Behind UndoEverything.
  Status FinishRollback(Txn* txn, Status undone, bool was_prepared);
  /// The rollback of `txn` failed or was left: a transaction of the manager's takes its place.
  void KeepFailed(Txn* txn, Status reason);

  // --- transactions without session (txn_manager_recovery.cc) ---
  template <typename Predicate>
  std::unique_ptr<Txn> TakeKept(const Predicate& wanted) {
    std::lock_guard lock(kept_mutex);
    for (std::unique_ptr<Txn>& candidate : kept) {
      if (!wanted(*candidate)) continue;
      std::unique_ptr<Txn> taken = std::move(candidate);
      candidate = std::move(kept.back());
      kept.pop_back();
      return taken;
    }
    return nullptr;
  }
  void Keep(std::unique_ptr<Txn> txn);

  UndoStreams* const undo;
  Log* const log;
  const bool temporary;
  const ShutdownSign shutdown_sign;
  UndoApplier* applier = nullptr;
  std::function<Status(TxnId, Csn)> reserve;

  // Written at every first write and every commit: a line each.
  alignas(64) Latch assign_latch;
  std::atomic<uint64_t> next_txn{1};  ///< written under assign_latch, after the ring knows the id
  alignas(64) std::atomic<uint64_t> next_csn{1};
  // Read by every cleaning and scan, rarely written.
  alignas(64) std::atomic<uint64_t> visible_to_all{1};
  std::atomic<uint64_t> purge_horizon{1};
  std::atomic<uint64_t> reserved_txn{UINT64_MAX};  ///< ids below are reserved on disk

  CommitRing ring;
  ActiveWriters writers;
  LockTable locks;
  SnapshotRegistry snapshots;

  std::mutex horizon_mutex;
  std::vector<Snapshot> open_snapshots;  ///< guarded by horizon_mutex; scratch

  std::mutex reserve_mutex;
  uint64_t first_txn = 1;  ///< of this run, with first_csn: no more CSNs are used than ids
  uint64_t first_csn = 1;
  std::atomic<uint64_t> adopted{0};
  std::atomic<uint64_t> losers{0};  ///< of these, to be rolled back by RollbackSome

  static constexpr uint32_t kPurgeCursors = 64;
  std::array<std::atomic<uint32_t>, kPurgeCursors> purge_cursors{};  ///< per worker

  std::mutex kept_mutex;
  std::vector<std::unique_ptr<Txn>> kept;  ///< guarded by kept_mutex; last, so it goes first
};

}  // namespace rowan
