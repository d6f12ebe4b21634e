// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/purge_window.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"

namespace rowan {
namespace {

/// Some ten thousand records: enough work for several workers, and the finished pages are freed
/// soon enough.
constexpr size_t kPagesPerWindow = 64;

}  // namespace

void PurgeWindow::Open(UndoPointer start, bool resumable) {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(inside_ == 0);
  ROWAN_DCHECK(!open_.load(std::memory_order_relaxed) && !start.IsNone());
  pages_.clear();
  next_ = start;
  at_end_ = false;
  outcome_ = {};
  outcome_.start = start;
  outcome_.resumable = resumable;
  inside_ = 1;
  open_.store(true, std::memory_order_relaxed);
}

bool PurgeWindow::Join() {
  if (!open()) return false;
  const MutexLock lock(&mutex_);
  if (!open_.load(std::memory_order_relaxed)) return false;
  ++inside_;
  ROWAN_DCHECK(inside_ > 1);
  return true;
}

Result<bool> PurgeWindow::Take(UndoSpace* space, UndoRun* run, UndoPointer* position) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(inside_ != 0);
  if (!outcome_.status.ok()) return false;
  const auto free = std::find_if(pages_.begin(), pages_.end(),
                                 [](const Page& page) { return !page.taken && !page.done; });
  Status status;
  if (free != pages_.end()) {
    *position = free->from;
    free->taken = true;
    status = CopyUndoRun(space, free->from, run);
  } else if (at_end_ || pages_.size() == kPagesPerWindow) {
    return false;
  } else {
    status = Extend(space, run, position);
  }
  if (!status.ok()) {
    outcome_.status = status;
    return status;
  }
  return true;
}

/// Under the mutex, though it may read pages: a thread that waits for it needs the next page.
Status PurgeWindow::Extend(UndoSpace* space, UndoRun* run, UndoPointer* position) {
  ROWAN_DCHECK(pages_.size() < kPagesPerWindow && !at_end_);
  Result<PageGuard> guard = space->FixShared(next_.page);
  if (!guard.ok()) return guard.status();
  if (next_.offset == 0) next_.offset = UndoRecordsBegin(guard->page());
  guard->Release();
  const Status status = CopyUndoRun(space, next_, run);
  if (!status.ok()) return status;
  *position = next_;
  const auto end = static_cast<uint16_t>(next_.offset + run->bytes.size());
  pages_.push_back({.from = next_, .end = end, .taken = true, .done = false});
  outcome_.resumable = outcome_.resumable && run->resumable;
  at_end_ = run->next == kNoPage;
  if (!at_end_) next_ = {run->next, 0};
  return Status::Ok();
}

void PurgeWindow::GiveBack(UndoPointer position, bool done) {
  const MutexLock lock(&mutex_);
  const auto page = std::find_if(pages_.begin(), pages_.end(), [&](const Page& candidate) {
    return candidate.from.page == position.page;
  });
  ROWAN_CHECK(page != pages_.end());
  ROWAN_CHECK(page->taken);
  ROWAN_DCHECK(position.offset >= page->from.offset && position.offset <= page->end);
  ROWAN_DCHECK(!done || position.offset == page->end);
  page->from = position;
  page->taken = false;
  page->done = done;
}

bool PurgeWindow::Leave(bool failed, Outcome* outcome) {
  const MutexLock lock(&mutex_);
  outcome_.failed = outcome_.failed || failed;
  ROWAN_DCHECK(inside_ != 0 && open_.load(std::memory_order_relaxed));
  if (--inside_ != 0) return false;
  open_.store(false, std::memory_order_relaxed);
  outcome_.ended = at_end_;
  for (const Page& page : pages_) {
    ROWAN_DCHECK(!page.taken);
    outcome_.start = page.from;
    if (!page.done) {
      outcome_.ended = false;
      break;
    }
    ROWAN_CHECK(page.from.offset == page.end);
  }
  *outcome = outcome_;
  return true;
}

}  // namespace rowan
