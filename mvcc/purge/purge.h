// SPDX-License-Identifier: GPL-2.0-only
// Purge: removes what committed transactions left once every snapshot sees them. Workers share the
// undo streams by number, and help with large transactions. Purge goes through a stream in commit
// order, across streams in any order: each record's purge looks at the row itself and does nothing
// if it was changed since.
// Thread safety: all members; a worker number is used by one thread at a time.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/purge/undo_purge.h"
#include "mvcc/txn/old_snapshots.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_applier.h"

namespace rowan {

class Purge {
 public:
  explicit Purge(UndoStreams* streams) : streams_(streams) {}
  /// Before the first purge.
  void SetApplier(UndoApplier* applier) { applier_ = applier; }

  /// One unit for worker `worker` of `workers`, as much as the budget allows, of transactions with
  /// a CSN below `horizon`. True if there may be more to do. A failing stream does not delay the
  /// others. Its failure is returned once, and again by units that make no progress elsewhere.
  Result<bool> RunUnit(uint32_t worker, uint32_t workers, Csn horizon, WorkBudget* budget);
  /// Where purge must wait for old snapshots: removes what none of them sees. One unit, as above;
  /// the caller keeps the horizon where it is.
  Result<bool> LookAhead(uint32_t worker, uint32_t workers, const OldSnapshots& old,
                         WorkBudget* budget);
  /// What a committed transaction of a temporary instance left, as much as the budget allows: the
  /// next transaction with its stream continues. REQUIRES: its stream is not released.
  Status PurgeOwn(const Txn* txn, WorkBudget* budget);

 private:
  /// Helps with large transactions of other workers' streams; `*helped`: with at least one. Returns
  /// the first failure.
  Status HelpOthers(WorkBudget* budget, bool* helped);
  /// Purges one stream; adds to `*purged`. False: the budget ran out within a transaction.
  Result<bool> PurgeStream(uint32_t stream, Csn horizon, WorkBudget* budget, uint32_t* purged);

  UndoStreams* const streams_;
  UndoApplier* applier_ = nullptr;
  static constexpr uint32_t kCursors = 64;
  std::array<std::atomic<uint32_t>, kCursors> cursors_{};        ///< per worker: its next stream
  std::array<std::atomic<uint32_t>, kCursors> ahead_cursors_{};  ///< the same for LookAhead
};

}  // namespace rowan
