// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/rollback_window.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"
#include "mvcc/undo/undo_stream.h"

namespace rowan {
namespace {

/// Some hundred thousand records: when other programs compete for processors, waiting for the last
/// worker to leave takes tens of milliseconds.
constexpr size_t kUnitsPerWindow = 1024;
/// Pages read in search of a unit's begin: more than most rows and their entries take.
constexpr size_t kPagesPerPile = 16;
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
  ROWAN_DCHECK((*txn)->state == TxnState::kActive && !(*txn)->rollback.shared);
  ROWAN_DCHECK((*txn)->undo.stream != nullptr && (*txn)->undo.records != 0);
  txn_ = std::move(*txn);
  txn_->rollback.shared = true;
  inside_ = 1;
  units_.clear();
  pile_ = {};
  rows_.assign(kRowSlots, 0);
  row_count_ = 0;
  next_ = txn_->undo.stream->tail;
  at_end_ = false;
  status_ = Status::Ok();
  // Nothing follows the newest record: that counts as a row.
  page_.assign(1, {.offset = 0, .share = {UndoShare::kRow, 0}, .rolled_back = true});
  has_work_.NotifyAll();
  return true;
}

bool RollbackWindow::HasWork() const {
  if (txn_ == nullptr || !status_.ok()) return false;
  return !at_end_ || std::any_of(units_.begin(), units_.end(),
                                 [](const Unit& unit) { return unit.state == State::kFree; });
}

Txn* RollbackWindow::JoinOrWait(std::chrono::milliseconds limit) {
  const MutexLock lock(&mutex_);
  // While others undo the last units there is nothing to take: joining would return at once.
  if (!HasWork()) has_work_.WaitFor(&mutex_, limit);
  if (!HasWork()) return nullptr;
  ROWAN_DCHECK(txn_->rollback.shared && inside_ != 0);
  ++inside_;
  return txn_.get();
}

bool RollbackWindow::Take(const UndoSpace& space, ShareOf share_of, const WorkBudget& budget,
                          UndoUnit* unit) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(inside_ != 0);
  if (!status_.ok()) return false;
  for (size_t i = 0;; ++i) {
    // Under the mutex, though it may read pages: a thread that waits for it needs the next page.
    while (i == units_.size() && !at_end_) {
      if (budget.exhausted()) return false;
      Extend(space, share_of);
    }
    if (i == units_.size()) return false;
    if (units_[i].state != State::kFree) continue;
    units_[i].state = State::kTaken;
    unit->number = i;
    unit->slices = units_[i].slices;
    return true;
  }
}

/// Reads one more page, which may add one unit.
void RollbackWindow::Extend(const UndoSpace& space, ShareOf share_of) {
  const PageNumber page = next_;
  at_end_ = page == txn_->undo.header.page || units_.size() == kUnitsPerWindow ||
            pile_.slices.size() == kPagesPerPile;
  if (at_end_) return;
  if (!ReadPage(space, share_of, &next_).ok()) at_end_ = true;
  if (at_end_) return;
  const std::optional<size_t> begin = FindBegin();
  AddToPile(page, begin.value_or(0), page_.size() - 1);
  if (!begin.has_value()) return;
  at_end_ = !AddRows(units_.size() + 1);
  if (at_end_) return;
  units_.push_back({std::move(pile_.slices), pile_.has_work ? State::kFree : State::kDone});
  pile_ = {};
  AddToPile(page, 0, begin.value());
}

Status RollbackWindow::ReadPage(const UndoSpace& space, ShareOf share_of, PageNumber* previous) {
  const PageNumber page = next_;
  Result<PageGuard> guard = space.FixShared(page);
  if (!guard.ok()) return guard.status();
  *previous = UndoPreviousOf(guard->page());
  const uint16_t free = UndoFreeOf(guard->page());
  const UndoShare behind = page_.front().share;
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
  page_.push_back({.offset = free, .share = behind, .rolled_back = true});
  return Status::Ok();
}

std::optional<size_t> RollbackWindow::FindBegin() const {
  const auto is = [this](size_t i, UndoShare::Kind kind)
                      ROWAN_REQUIRES(mutex_) { return page_[i].share.kind == kind; };
  const size_t end = page_.size() - 1;
  // After an entry a row is certainly a new one; before another row it is not one that shares the
  // entries after it with the row before.
  for (size_t i = 0; i < end; ++i) {
    if (!is(i, UndoShare::kRow)) continue;
    if (is(i + 1, UndoShare::kRow) || (i != 0 && is(i - 1, UndoShare::kFollows))) return i;
  }
  if (end != 0 && is(end - 1, UndoShare::kFollows) && is(end, UndoShare::kRow) &&
      !pile_.slices.empty()) {
    return end;
  }
  return std::nullopt;
}

void RollbackWindow::AddToPile(PageNumber page, size_t begin, size_t end) {
  ROWAN_DCHECK(begin <= end && end < page_.size());
  if (begin == end) return;
  ROWAN_DCHECK(page_[begin].offset < page_[end].offset);
  pile_.slices.push_back({page, page_[begin].offset, page_[end].offset});
  for (size_t i = begin; i < end; ++i) {
    if (page_[i].rolled_back) continue;
    pile_.has_work = true;
    if (page_[i].share.kind == UndoShare::kRow) pile_.rows.push_back(page_[i].share.row);
  }
}

bool RollbackWindow::AddRows(size_t unit) {
  ROWAN_DCHECK(unit != 0 && unit <= kUnitsPerWindow);
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
  ROWAN_DCHECK(unit.number < units_.size() && inside_ != 0);
  Unit& given = units_[unit.number];
  ROWAN_CHECK(given.state == State::kTaken);
  given.state = status.ok() ? State::kDone : State::kFree;
  if (status.Is(Code::kBusy)) {
    has_work_.NotifyAll();
  } else {
    KeepFirst(&status_, status);
  }
}

bool RollbackWindow::Leave(Outcome* outcome) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(inside_ != 0 && txn_ != nullptr);
  if (--inside_ != 0) return false;
  outcome->units = units_.size();
  for (const Unit& unit : units_) {
    ROWAN_CHECK(unit.state != State::kTaken);
    if (unit.state != State::kDone) break;
    outcome->end = {unit.slices.back().page, unit.slices.back().begin};
  }
  outcome->status = status_;
  outcome->txn = std::move(txn_);
  outcome->txn->rollback.shared = false;
  rows_ = {};
  return true;
}

}  // namespace rowan
