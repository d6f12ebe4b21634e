// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/rollback_window.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "mvcc/undo/undo_stream.h"

namespace rowan {
namespace {

/// Some hundred thousand records: where other programs want the processors, whoever waits for the
/// last one to leave waits for tens of milliseconds.
constexpr size_t kUnitsPerWindow = 1024;
/// Slots of the hash table, half of them used at most: 4 MiB while workers share a rollback.
constexpr size_t kRowSlots = size_t{1} << 19;
/// Low bits of a slot: the unit's number, from 1 on.
constexpr uint64_t kUnitMask = 0xfff;
static_assert(kUnitsPerWindow < kUnitMask);

}  // namespace

bool RollbackWindow::TryOpen(std::unique_ptr<Txn>* txn) {
  const MutexLock lock(&mutex_);
  if (txn_ != nullptr) return false;
  ROWAN_CHECK(inside_ == 0);
  txn_ = std::move(*txn);
  txn_->rollback_shared = true;
  inside_ = 1;
  units_.clear();
  pile_ = {};
  rows_.assign(kRowSlots, 0);
  row_count_ = 0;
  next_ = txn_->stream->tail;
  at_end_ = false;
  status_ = Status::Ok();
  opened_.NotifyAll();
  return true;
}

Txn* RollbackWindow::JoinOrWait(std::chrono::milliseconds limit) {
  const MutexLock lock(&mutex_);
  if (txn_ == nullptr) opened_.WaitFor(&mutex_, limit);
  if (txn_ == nullptr) return nullptr;
  ++inside_;
  return txn_.get();
}

Result<bool> RollbackWindow::Take(const UndoSpace& space, ShareOf share_of, UndoUnit* unit) {
  const MutexLock lock(&mutex_);
  if (!status_.ok()) return false;
  for (size_t i = 0;; ++i) {
    // Under the mutex, though it may read pages: whoever waits for it needs the page behind.
    while (i == units_.size() && !at_end_) {
      const Status status = Extend(space, share_of);
      if (!status.ok()) {
        status_ = status;
        return status;
      }
    }
    if (i == units_.size()) return false;
    if (units_[i].state != State::kFree) continue;
    units_[i].state = State::kTaken;
    unit->number = i;
    unit->slices = units_[i].slices;
    return true;
  }
}

/// Reads one page more, which may make one unit more.
Status RollbackWindow::Extend(const UndoSpace& space, ShareOf share_of) {
  const PageNumber page = next_;
  at_end_ = page == txn_->undo_start.page || units_.size() == kUnitsPerWindow;
  if (at_end_) return Status::Ok();
  const Status status = ReadPage(space, share_of, &next_);
  if (!status.ok() || at_end_) return status;
  const size_t end = page_.size() - 1;
  const size_t begin = FindBegin();
  AddToPile(page, begin, end);
  if (begin != 0) {
    at_end_ = !AddRows(units_.size() + 1);
    if (at_end_) return Status::Ok();
    units_.push_back({std::move(pile_.slices), pile_.has_work ? State::kFree : State::kDone});
    pile_ = {};
    AddToPile(page, 0, begin);
  }
  return Status::Ok();
}

Status RollbackWindow::ReadPage(const UndoSpace& space, ShareOf share_of, PageNumber* previous) {
  const PageNumber page = next_;
  Result<PageGuard> guard = space.FixShared(page);
  if (!guard.ok()) return guard.status();
  *previous = UndoPreviousOf(guard->page());
  const uint16_t free = UndoFreeOf(guard->page());
  page_.clear();
  UndoRecordInPage record;
  uint16_t offset = UndoRecordsBegin(guard->page());
  for (; offset < free; offset = static_cast<uint16_t>(offset + record.length)) {
    if (!ParseUndoRecord(guard->page(), offset, free, &record)) {
      return space.Damage(page, "an undo record is damaged");
    }
    const UndoShare share = share_of(record);
    if (share.kind == UndoShare::kAlone && !record.rolled_back) at_end_ = true;
    page_.push_back({offset, share, record.rolled_back});
  }
  page_.push_back({.offset = free, .share = {}, .rolled_back = true});
  return Status::Ok();
}

size_t RollbackWindow::FindBegin() const {
  const auto is_row = [this](size_t i)
                          ROWAN_REQUIRES(mutex_) { return page_[i].share.kind == UndoShare::kRow; };
  // Behind an entry a row is the next one for certain; in front of another row it is no row that
  // came with the one before. What stands at the page's edges belongs to what is not in sight.
  for (size_t i = 1; i + 1 < page_.size(); ++i) {
    if (is_row(i) && (page_[i - 1].share.kind == UndoShare::kFollows || is_row(i + 1))) return i;
  }
  return 0;
}

void RollbackWindow::AddToPile(PageNumber page, size_t begin, size_t end) {
  if (begin == end) return;
  pile_.slices.push_back({page, page_[begin].offset, page_[end].offset});
  for (size_t i = begin; i < end; ++i) {
    if (page_[i].rolled_back) continue;
    pile_.has_work = true;
    if (page_[i].share.kind == UndoShare::kRow) pile_.rows.push_back(page_[i].share.row);
  }
}

bool RollbackWindow::AddRows(size_t unit) {
  for (const uint64_t row : pile_.rows) {
    const uint64_t slot = (row & ~kUnitMask) | unit;
    size_t place = row / (kUnitMask + 1) % kRowSlots;
    while (rows_[place] != 0 && ((rows_[place] ^ row) & ~kUnitMask) != 0) {
      place = (place + 1) % kRowSlots;
    }
    if (rows_[place] == slot) continue;
    if (rows_[place] != 0 || row_count_ == kRowSlots / 2) return false;
    rows_[place] = slot;
    ++row_count_;
  }
  return true;
}

void RollbackWindow::GiveBack(const UndoUnit& unit, Status status) {
  const MutexLock lock(&mutex_);
  Unit& given = units_[unit.number];
  ROWAN_CHECK(given.state == State::kTaken);
  given.state = status.ok() ? State::kDone : State::kFree;
  if (!status.Is(Code::kBusy)) KeepFirst(&status_, status);
}

bool RollbackWindow::Leave(Outcome* outcome) {
  const MutexLock lock(&mutex_);
  if (--inside_ != 0) return false;
  outcome->units = units_.size();
  for (const Unit& unit : units_) {
    ROWAN_CHECK(unit.state != State::kTaken);
    if (unit.state != State::kDone) break;
    outcome->end = {unit.slices.back().page, unit.slices.back().begin};
  }
  outcome->status = status_;
  outcome->txn = std::move(txn_);
  outcome->txn->rollback_shared = false;
  rows_ = {};
  return true;
}

}  // namespace rowan
