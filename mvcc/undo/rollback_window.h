// SPDX-License-Identifier: GPL-2.0-only
// RollbackWindow: the newest pages of undo of one transaction that several workers roll back at the
// same time. The worker that took the transaction opens it; others join while it is open. Units are
// handed out from the end of the stream backwards, a page or so each; within a unit records are
// undone newest first. A record that is undone is marked in the group that undid it, so that
// nothing is undone twice, also after a crash. When there are no more units, all workers leave, and
// the last one drops the marked records at the end of the stream.
//
// Invariants:
//   1. The records of one row are undone newest first: all of them left in the window are in one
//      unit. Where an older page has a record of a row that is in a unit already, the window ends.
//   2. Entries are undone before the row that they belong to: a unit begins with a row, and never
//      between a row and the entries written with it. (A row that moves to another key is two rows
//      in succession, and then the entries of both.) So a unit may begin with a row after an entry
//      or before another row: before the second of two rows no entries are cut off, as there are
//      none. Page boundaries do not matter.
//   3. Records that are neither (UndoShare::kAlone), and the page of the transaction's header, are
//      in no window.
//   4. While it is open nothing changes the transaction, or its stream except for the marks.
//   5. What is read and not handed out stays below a few pages, so all windows of a transaction
//      together read little more than its undo. Where a change has more, and at an unreadable page,
//      the window ends: the worker that goes on alone then meets the damage.
// Thread safety: all members; Take, GiveBack and Leave by those inside.
#pragma once

#include <atomic>
#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "base/function_ref.h"
#include "base/mutex.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn/undo_pointer.h"
#include "mvcc/undo/undo_share.h"
#include "mvcc/undo/undo_space.h"

namespace rowan {

/// Records of a page, between two offsets.
struct UndoSlice {
  PageNumber page;
  uint16_t begin = 0;
  uint16_t end = 0;
};

/// What one worker rolls back at a time: slices, newest first.
struct UndoUnit {
  size_t number = 0;
  std::vector<UndoSlice> slices;
};

class RollbackWindow {
 public:
  using ShareOf = FunctionRef<UndoShare(const UndoRecordInPage&)>;

  struct Outcome {
    std::unique_ptr<Txn> txn;
    size_t units = 0;  ///< how many there were
    UndoPointer end;   ///< everything after it is rolled back; none: nothing was
    Status status;     ///< the first failure of a unit
  };

  /// The caller is inside. False: it is open already.
  [[nodiscard]] bool TryOpen(std::unique_ptr<Txn>* txn);
  /// Waits up to `limit` for a window with units; null: there was none.
  [[nodiscard]] Txn* JoinOrWait(std::chrono::milliseconds limit);

  /// A unit for the caller alone. False: there is none, or the budget is exhausted.
  [[nodiscard]] bool Take(const UndoSpace& space, ShareOf share_of, const WorkBudget& budget,
                          UndoUnit* unit);
  /// `status`: kOk = rolled back, kBusy = partly.
  void GiveBack(const UndoUnit& unit, Status status);
  /// The caller is no longer inside. True: it was the last one; the window is closed.
  [[nodiscard]] bool Leave(Outcome* outcome);

 private:
  enum class State : uint8_t { kFree, kTaken, kDone };
  struct Unit {
    std::vector<UndoSlice> slices;
    State state = State::kFree;
  };
  struct Record {
    uint16_t offset = 0;
    UndoShare share;
    bool rolled_back = false;
  };
  /// Records that belong together and are not handed out yet.
  struct Pile {
    std::vector<UndoSlice> slices;
    std::vector<uint64_t> rows;  ///< not rolled back yet
    bool has_work = false;
  };

  [[nodiscard]] bool HasWork() const ROWAN_REQUIRES(mutex_);
  void Extend(const UndoSpace& space, ShareOf share_of) ROWAN_REQUIRES(mutex_);
  Status ReadPage(const UndoSpace& space, ShareOf share_of, PageNumber* previous)
      ROWAN_REQUIRES(mutex_);
  /// Index of the first record of page_ that a unit may begin with; the index of page_'s end: the
  /// unit may begin with the pile.
  [[nodiscard]] std::optional<size_t> FindBegin() const ROWAN_REQUIRES(mutex_);
  void AddToPile(PageNumber page, size_t begin, size_t end) ROWAN_REQUIRES(mutex_);
  /// False: a row is in another unit, or there are too many rows.
  bool AddRows(size_t unit) ROWAN_REQUIRES(mutex_);

  Mutex mutex_{LatchRank::kUndoCreate};  ///< never held with another one of this rank
  Condition has_work_;
  std::unique_ptr<Txn> txn_ ROWAN_GUARDED_BY(mutex_);  ///< null: it is not open
  uint32_t inside_ ROWAN_GUARDED_BY(mutex_) = 0;
  std::vector<Unit> units_ ROWAN_GUARDED_BY(mutex_);  ///< newest first
  Pile pile_ ROWAN_GUARDED_BY(mutex_);
  /// Records of the page being read, and the first one of the page after it.
  std::vector<Record> page_ ROWAN_GUARDED_BY(mutex_);
  std::vector<uint64_t> rows_ ROWAN_GUARDED_BY(mutex_);  ///< hash table: row, unit in low bits
  size_t row_count_ ROWAN_GUARDED_BY(mutex_) = 0;
  PageNumber next_ ROWAN_GUARDED_BY(mutex_);  ///< page to read next
  bool at_end_ ROWAN_GUARDED_BY(mutex_) = false;
  Status status_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
