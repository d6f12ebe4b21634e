// SPDX-License-Identifier: GPL-2.0-only
// Purge of a stream: hands out the records of its oldest committed transaction and frees the pages
// behind it. Purge progress within a page is not logged: after a crash the transactions of the head
// page are purged once more, which finds nothing to do. Records that must not run twice (freed
// blobs, dropped files) are marked in the page as soon as they ran.
#include <algorithm>
#include <array>

#include "base/assertions.h"
#include "mvcc/undo_impl.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

constexpr uint32_t kMarkGroupBytes = 256;
/// Pages freed in one group: as many as fit a mini-transaction without allocating.
constexpr size_t kPagesPerGroup = 6;
constexpr uint32_t kFreeGroupBytes = 2048;

bool MustNotRunTwice(UndoType type) {
  return type == UndoType::kBlobDrop || type == UndoType::kExtension;
}

}  // namespace

/// Kept per thread so that a warm purge worker does not allocate.
struct UndoStreams::Impl::PurgeScratch {
  std::vector<std::byte> bytes;
  UndoRecordCopy record;
};

Result<bool> UndoStreams::PurgeOldest(uint32_t stream_number, Csn horizon,
                                      const PurgeVisit& visit) {
  UndoStream* stream = impl_->StreamAt(stream_number);
  if (stream->history.load(std::memory_order_acquire) == 0) return false;
  if (stream->purging.exchange(true, std::memory_order_acquire)) return false;
  Result<bool> result = impl_->PurgeLocked(stream, horizon, visit);
  stream->purging.store(false, std::memory_order_release);
  return result;
}

Status UndoStreams::Impl::MoveToNextPage(UndoStream* stream, PageGuard* guard) {
  // At the end of a page that has a successor: the next header is on the successor.
  while (stream->start.offset == UndoFreeOf(guard->page())) {
    const PageNumber next = UndoNextOf(guard->page());
    if (next == kNoPage) break;
    guard->Release();
    Result<PageGuard> following = Look(next);
    if (!following.ok()) return following.status();
    *guard = std::move(following.value());
    stream->start = {next, kUndoRecordsOffset};
  }
  return Status::Ok();
}

Result<bool> UndoStreams::Impl::PurgeLocked(UndoStream* stream, Csn horizon,
                                            const PurgeVisit& visit) {
  if (stream->oldest_csn != 0 && Csn(stream->oldest_csn) >= horizon) return false;
  Result<PageGuard> guard = Look(stream->start.page);
  if (!guard.ok()) return guard.status();
  Status status = MoveToNextPage(stream, &guard.value());
  if (!status.ok()) return status;
  UndoRecordInPage record;
  TxnHeader header;
  if (!ParseUndoRecord(guard->page(), stream->start.offset, UndoFreeOf(guard->page()), &record) ||
      !ParseTxnHeader(record, &header) || header.state != UndoTxnState::kCommitted) {
    return Damage(stream->start.page, "an undo stream does not go on with a committed transaction");
  }
  stream->oldest_csn = header.csn.value();
  if (header.csn >= horizon) return false;

  thread_local PurgeScratch scratch;
  auto begin = static_cast<uint16_t>(stream->start.offset + record.length);
  PageNumber page = stream->start.page;
  UndoPointer end;
  while (end.IsNone()) {
    const PageNumber next = UndoNextOf(guard->page());
    status = VisitPage(page, std::move(guard.value()), begin, header.txn, visit, &scratch, &end);
    if (!status.ok()) return status;
    if (!end.IsNone()) break;
    guard = Look(next);
    if (!guard.ok()) return guard.status();
    page = next;
    begin = kUndoRecordsOffset;
  }
  stream->start = end;
  stream->oldest_csn = 0;
  stream->history.fetch_sub(1, std::memory_order_relaxed);
  history.fetch_sub(1, std::memory_order_relaxed);
  status = FreeBehind(stream);
  if (!status.ok()) return status;
  return true;
}

Status UndoStreams::Impl::VisitPage(PageNumber page, PageGuard guard, uint16_t begin, TxnId txn,
                                    const PurgeVisit& visit, PurgeScratch* scratch,
                                    UndoPointer* end) {
  // Records up to the next header, or to the end of the page, copied out under one latch.
  const std::byte* bytes = guard.page();
  const size_t free = UndoFreeOf(bytes);
  const bool is_tail = UndoNextOf(bytes) == kNoPage;
  size_t stop = begin;
  UndoRecordInPage record;
  bool found_header = false;
  while (stop < free) {
    if (!ParseUndoRecord(bytes, stop, free, &record)) {
      return Damage(page, "an undo record is damaged");
    }
    found_header = record.type == UndoType::kTxnHeader;
    if (found_header) break;
    stop += record.length;
  }
  scratch->bytes.assign(bytes + begin, bytes + stop);
  guard.Release();
  *end = {};
  if (found_header || is_tail) *end = {page, static_cast<uint16_t>(stop)};

  for (size_t offset = 0; offset < scratch->bytes.size(); offset += record.length) {
    ROWAN_CHECK(
        ParseUndoRecord(scratch->bytes.data(), offset, scratch->bytes.size(), &record));
    if (record.done || record.type == UndoType::kXid) continue;
    scratch->record.type = record.type;
    scratch->record.index = record.index;
    scratch->record.payload.assign(record.payload.begin(), record.payload.end());
    Status status = visit(txn, scratch->record);
    if (status.ok() && MustNotRunTwice(record.type)) {
      status = MarkDone(page, static_cast<uint16_t>(begin + offset), record.type);
    }
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status UndoStreams::Impl::MarkDone(PageNumber page, uint16_t offset, UndoType type) {
  MiniTxn mini_txn(pool);
  const Status status = mini_txn.Start(kMarkGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> held = Hold(&mini_txn, page);
  if (!held.ok()) return held.status();
  const std::array mark{static_cast<std::byte>(static_cast<uint8_t>(type) | kUndoDoneBit)};
  SetBytes(&mini_txn, held.value(), static_cast<uint16_t>(offset + kUndoTypeOffset), mark);
  mini_txn.Commit();
  return Status::Ok();
}

Status UndoStreams::Impl::FreeBehind(UndoStream* stream) {
  while (stream->head != stream->start.page) {
    MiniTxn mini_txn(pool);
    Status status = mini_txn.Start(kFreeGroupBytes);
    if (!status.ok()) return status;
    std::array<MutablePage, kPagesPerGroup> dead;
    size_t count = 0;
    PageNumber head = stream->head;
    for (; count < kPagesPerGroup && head != stream->start.page; ++count) {
      // One bitmap page per group: two would be latched in any order.
      const uint32_t group_pages = GroupPages(page_size());
      if (head.value() / group_pages != stream->head.value() / group_pages) break;
      Result<MutablePage> page = Hold(&mini_txn, head);
      if (!page.ok()) return page.status();
      dead[count] = page.value();
      head = UndoNextOf(page->bytes);
      if (head == kNoPage) return Damage(dead[count].id.page, "an undo stream is cut off");
    }
    Result<MutablePage> directory_page = HoldDirectory(&mini_txn, stream->number);
    if (!directory_page.ok()) return directory_page.status();
    for (size_t i = 0; i < count; ++i) {
      status = allocator->Free(&mini_txn, dead[i].id);
      if (!status.ok() && i == 0) return status;
      // Behind the first one something is logged: a page that cannot be freed is lost, not reused.
      if (status.ok()) mini_txn.DiscardAtCommit(dead[i]);
    }
    SetDirectory(&mini_txn, directory_page.value(), stream->number,
                 {head, stream->start.page, stream->start.offset});
    mini_txn.Commit();
    stream->head = head;
    pages.fetch_sub(count, std::memory_order_relaxed);
  }
  return Status::Ok();
}

}  // namespace rowan
