// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_check.h"

#include <algorithm>

#include "base/logging.h"
#include "mvcc/undo/undo_scan.h"

namespace rowan {
namespace {

/// Compares a page's summary of its predecessors with what was found there.
bool FitsSummary(const std::byte* page, const UndoScan& scan) {
  if (!HasUndoSummary(page)) return true;
  const UndoSummary summary = LoadUndoSummary(page);
  if (summary.txn == kNoTxn) return !scan.unfinished();
  if (summary.txn != scan.header.txn) return false;
  if (scan.begun == 0) return true;  // it began before the walk
  return summary.header == scan.position && summary.records == scan.records;
}

}  // namespace

Status UndoCheck::Run(PageVisit visit_page, bool* passed_over) {
  if (passed_over != nullptr) *passed_over = false;
  if (visit_page) std::for_each(space_->directory().begin(), space_->directory().end(), visit_page);
  const uint32_t count = streams_->stream_count();
  for (uint32_t number = 0; number < count; ++number) {
    UndoStream* stream = streams_->At(number);
    if (stream->purging.exchange(true, std::memory_order_acquire)) {  // purge checks it
      if (passed_over != nullptr) *passed_over = true;
      continue;
    }
    const Status status = CheckStream(stream, visit_page);
    stream->purging.store(false, std::memory_order_release);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UndoCheck::CheckLinks(UndoStream* stream, PageVisit visit_page) {
  // From the head to where the records begin: pages that purge has processed but not freed yet.
  for (PageNumber page = stream->head; page != stream->start.page;) {
    if (page == kNoPage)
      return space_->Damage(stream->head, "a stream does not reach its start page");
    Result<PageGuard> guard = space_->FixShared(page);
    if (!guard.ok()) return guard.status();
    if (UndoStreamOf(guard->page()) != stream->number) {
      return space_->Damage(page, "it belongs to another stream");
    }
    if (visit_page) visit_page(page);
    page = UndoNextOf(guard->page());
  }
  return Status::Ok();
}

Status UndoCheck::CheckStream(UndoStream* stream, PageVisit visit_page) {
  Status status = CheckLinks(stream, visit_page);
  if (!status.ok()) return status;
  // A transaction of three pages or more may end after the walk met its header as unfinished, and
  // another may begin before the walk reaches the last page.
  constexpr int kTries = 20;
  status = Status(Code::kRestart);
  for (int i = 1; i <= kTries && status.Is(Code::kRestart); ++i) {
    status = WalkStream(stream, visit_page, i < kTries);
  }
  return status;
}

Status UndoCheck::WalkStream(UndoStream* stream, PageVisit visit_page, bool in_use) {
  UndoScan scan;
  scan.in_use = in_use;
  if (stream->purge_txn != kNoTxn) {
    scan.header.txn = stream->purge_txn;
    scan.header.state = UndoTxnState::kCommitted;
  }
  // Each page is latched before its predecessor is released, in chain order: neither a growing nor
  // a shrinking tail can intervene.
  PageGuard previous;
  for (PageNumber page = stream->start.page; page != kNoPage;) {
    Result<PageGuard> guard = space_->FixShared(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (UndoStreamOf(bytes) != stream->number) {
      return space_->Damage(page, "it belongs to another stream");
    }
    Result<bool> allocated = space_->allocator()->IsAllocated(space_->IdOf(page));
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) return space_->Damage(page, "an undo page in use is marked free");
    const uint16_t begin =
        page == stream->start.page ? stream->start.offset : UndoRecordsBegin(bytes);
    if (page != stream->start.page && !FitsSummary(bytes, scan)) {
      if (in_use) return Status(Code::kRestart);
      return space_->Damage(page, "the summary of what is in front of an undo page is wrong");
    }
    const Status status = scan.WalkPage(*space_, page, bytes, begin);
    if (!status.ok()) return status;
    if (visit_page) visit_page(page);
    page = UndoNextOf(bytes);
    previous = std::move(guard.value());
  }
  return Status::Ok();
}

}  // namespace rowan
