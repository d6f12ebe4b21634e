// SPDX-License-Identifier: GPL-2.0-only
// Walking over undo streams to check them.
#include <algorithm>

#include "base/logging.h"
#include "mvcc/undo/undo_scan.h"

namespace rowan {

Status UndoStreams::Impl::ScanPage(PageNumber page, const std::byte* bytes, uint16_t begin,
                                   StreamScan* scan) const {
  const size_t free = UndoFreeOf(bytes);
  UndoRecordInPage record;
  for (size_t offset = begin; offset < free; offset += record.length) {
    if (!ParseUndoRecord(bytes, offset, free, &record)) {
      return Damage(page, "an undo record is damaged");
    }
    if (record.type != UndoType::kTxnHeader) {
      if (scan->header.txn == kNoTxn) return Damage(page, "an undo record has no transaction");
      if (record.type != UndoType::kXid) ++scan->records;
      scan->bytes += record.length;
      continue;
    }
    if (scan->unfinished()) {
      if (scan->in_use) return Status(Code::kRestart);
      return Damage(page, "a transaction begins before the last one ended");
    }
    ++scan->begun;
    const Csn last_csn = scan->header.csn;
    if (!ParseTxnHeader(record, &scan->header)) {
      return Damage(page, "the header of a transaction is damaged");
    }
    scan->txn_max = std::max(scan->txn_max, scan->header.txn.value());
    if (scan->header.state == UndoTxnState::kCommitted) {
      if (scan->header.csn <= last_csn) return Damage(page, "commits are out of order");
      scan->csn_max = std::max(scan->csn_max, scan->header.csn.value());
      ++scan->committed;
    }
    scan->begin = {page, static_cast<uint16_t>(offset), 0};
    scan->records = 0;
    scan->bytes = 0;
  }
  return Status::Ok();
}

Status UndoStreams::Check(const PageVisit& visit_page, bool* passed_over) {
  if (passed_over != nullptr) *passed_over = false;
  if (visit_page) std::for_each(impl_->directory.begin(), impl_->directory.end(), visit_page);
  const uint32_t count = stream_count();
  for (uint32_t number = 0; number < count; ++number) {
    UndoStream* stream = impl_->StreamAt(number);
    if (stream->purging.exchange(true, std::memory_order_acquire)) {  // purge checks it
      if (passed_over != nullptr) *passed_over = true;
      continue;
    }
    const Status status = impl_->CheckStream(stream, visit_page);
    stream->purging.store(false, std::memory_order_release);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UndoStreams::Impl::CheckLinks(UndoStream* stream, const PageVisit& visit_page) {
  // From the head to where the records begin: pages that purge is done with and has not freed yet.
  for (PageNumber page = stream->head; page != stream->start.page;) {
    if (page == kNoPage) return Damage(stream->head, "a stream does not reach its start page");
    Result<PageGuard> guard = Look(page);
    if (!guard.ok()) return guard.status();
    if (UndoStreamOf(guard->page()) != stream->number) {
      return Damage(page, "the page belongs to another stream");
    }
    if (visit_page) visit_page(page);
    page = UndoNextOf(guard->page());
  }
  return Status::Ok();
}

namespace {

/// Compares what a page says about its predecessors with what was met there.
template <typename Scan>
bool FitsSummary(const std::byte* page, const Scan& scan) {
  if (!HasUndoSummary(page)) return true;
  const UndoSummary summary = LoadUndoSummary(page);
  if (summary.txn == kNoTxn) return !scan.unfinished();
  if (summary.txn != scan.header.txn) return false;
  if (scan.begun == 0) return true;  // it began in front of the walk
  return summary.header.page == scan.begin.page && summary.header.offset == scan.begin.offset &&
         summary.records == scan.records;
}

}  // namespace

Status UndoStreams::Impl::CheckStream(UndoStream* stream, const PageVisit& visit_page) {
  Status status = CheckLinks(stream, visit_page);
  if (!status.ok()) return status;
  // A transaction of three pages or more may end behind the walk's back, which has met its header
  // as unfinished, and another one may begin before the walk comes to the last page.
  constexpr int kTries = 20;
  status = Status(Code::kRestart);
  for (int i = 1; i <= kTries && status.Is(Code::kRestart); ++i) {
    status = WalkStream(stream, visit_page, i < kTries);
  }
  return status;
}

Status UndoStreams::Impl::WalkStream(UndoStream* stream, const PageVisit& visit_page,
                                     bool in_use) {
  StreamScan scan;
  scan.in_use = in_use;
  if (stream->purge_txn != kNoTxn) {
    scan.header.txn = stream->purge_txn;
    scan.header.state = UndoTxnState::kCommitted;
  }
  // Each page is latched before its predecessor is given back, in chain order: neither a growing
  // nor a shrinking tail can get between.
  PageGuard previous;
  for (PageNumber page = stream->start.page; page != kNoPage;) {
    Result<PageGuard> guard = Look(page);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (UndoStreamOf(bytes) != stream->number) {
      return Damage(page, "the page belongs to another stream");
    }
    Result<bool> allocated = allocator->IsAllocated(IdOf(page));
    if (!allocated.ok()) return allocated.status();
    if (!allocated.value()) return Damage(page, "an undo page in use is marked free");
    const uint16_t begin =
        page == stream->start.page ? stream->start.offset : UndoRecordsBegin(bytes);
    if (page != stream->start.page && !FitsSummary(bytes, scan)) {
      if (in_use) return Status(Code::kRestart);
      return Damage(page, "the summary of what is in front of an undo page is wrong");
    }
    const Status status = ScanPage(page, bytes, begin, &scan);
    if (!status.ok()) return status;
    if (visit_page) visit_page(page);
    page = UndoNextOf(bytes);
    previous = std::move(guard.value());
  }
  return Status::Ok();
}

}  // namespace rowan
