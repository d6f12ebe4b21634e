// SPDX-License-Identifier: GPL-2.0-only
// PurgeWindow: some pages of one large transaction that several workers purge at the same time.
// The holder of the stream (`purging`) opens it where the transaction goes on; others join while it
// is open and take pages, each alone, in the order of the chain. Neighbours in a transaction are
// mostly neighbours in a tree, so workers seldom meet on a leaf. After a limit of pages no worker
// gets another, all leave, and the last one closes it and has the stream: purge goes on after the
// pages that were done without a gap. Pages after a gap are purged again, which finds nothing to
// do.
// Thread safety: all members, from Open to Close.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"
#include "base/status.h"
#include "mvcc/txn/undo_pointer.h"
#include "mvcc/undo/undo_space.h"
#include "mvcc/undo/undo_walk.h"

namespace rowan {

class PurgeWindow {
 public:
  struct Outcome {
    UndoPointer start;      ///< everything before is done
    bool ended = false;     ///< the transaction was purged to its end
    bool resumable = true;  ///< a restart may begin at `start`
    bool failed = false;    ///< a worker could not go on
    Status status;          ///< the first damaged page's
  };

  /// The caller is inside. `start`: a record of the transaction, or the end of a page of it.
  /// `resumable`: a restart may begin there.
  void Open(UndoPointer start, bool resumable);
  /// False: it is not open.
  [[nodiscard]] bool Join();
  /// Cheap; may be outdated.
  [[nodiscard]] bool open() const { return open_.load(std::memory_order_relaxed); }

  /// A page for the caller alone: its records are in `run`, the first one at `*position`. False:
  /// there is none.
  Result<bool> Take(UndoSpace* space, UndoRun* run, UndoPointer* position);
  /// The caller has finished with the page, up to `position`.
  void GiveBack(UndoPointer position, bool done);
  /// The caller is no longer inside; `failed`: it could not go on. True: it was the last one; the
  /// window is closed.
  [[nodiscard]] bool Leave(bool failed, Outcome* outcome);

 private:
  struct Page {
    UndoPointer from;
    uint16_t end = 0;
    bool taken = false;
    bool done = false;
  };
  Status Extend(UndoSpace* space, UndoRun* run, UndoPointer* position) ROWAN_REQUIRES(mutex_);

  Mutex mutex_{LatchRank::kUndoCreate};  ///< never held with another one of this rank
  std::atomic<bool> open_{false};        ///< written under mutex_
  uint32_t inside_ ROWAN_GUARDED_BY(mutex_) = 0;
  std::vector<Page> pages_ ROWAN_GUARDED_BY(mutex_);  ///< in the order of the chain
  UndoPointer next_ ROWAN_GUARDED_BY(mutex_);  ///< after pages_; offset 0: where its page begins
  bool at_end_ ROWAN_GUARDED_BY(mutex_) = false;
  Outcome outcome_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
