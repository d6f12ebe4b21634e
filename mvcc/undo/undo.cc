// SPDX-License-Identifier: GPL-2.0-only
// Streams and the directory: creating, taking, giving back, growing; and reading single records.
#include "mvcc/undo/undo.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/logging.h"
#include "base/thread_shard.h"
#include "mvcc/undo/undo_impl.h"
#include "space/space_pages.h"

namespace rowan {
namespace {

/// Log bytes of a group that initialises, links and allocates one page, generously.
constexpr uint32_t kPageGroupBytes = 1024;

}  // namespace

UndoStreams::Impl::~Impl() {
  for (uint32_t i = 0; i < stream_count.load(std::memory_order_relaxed); ++i) {
    delete streams[i].load(std::memory_order_relaxed);
  }
}

UndoStreams::UndoStreams(PageAllocator* allocator, SpaceId space)
    : impl_(std::make_unique<Impl>(allocator, space)) {}
UndoStreams::~UndoStreams() = default;

size_t UndoStreams::MaxPayloadBytes(uint32_t page_size_bytes) {
  // Header record and record must fit one empty page together.
  return UndoRecordsEnd(page_size_bytes) - kUndoRecordsOffset - kTxnHeaderBytes - kUndoFixedBytes -
         kVarintBytesMax;
}

uint32_t UndoStreams::LogBytesMax(size_t payload_bytes) {
  constexpr size_t kRecordFrame = 20;  // type, space, page and length of the log record; offset
  return static_cast<uint32_t>(payload_bytes + kTxnHeaderBytes + kUndoFixedBytes +
                               kVarintBytesMax + kRecordFrame);
}

Status UndoStreams::Impl::Damage(PageNumber page, const char* what) const {
  pool->ReportDamage(IdOf(page), what);
  return Status(Code::kCorrupt, what, page.value());
}

Result<MutablePage> UndoStreams::Impl::Hold(MiniTxn* mini_txn, PageNumber page) const {
  const MutablePage held = mini_txn->FindHeld(IdOf(page));
  if (held.valid()) return held;
  Result<MutablePage> fixed = mini_txn->Fix(IdOf(page));
  if (fixed.ok() && !IsUndoPage({fixed->bytes, page_size()})) {
    return Damage(page, "the page is not an undo page, or its free offset is impossible");
  }
  return fixed;
}

Result<PageGuard> UndoStreams::Impl::Look(PageNumber page) const {
  Result<PageGuard> guard = pool->Fix(IdOf(page), LatchMode::kShared);
  if (guard.ok() && !IsUndoPage({guard->page(), page_size()})) {
    return Damage(page, "the page is not an undo page, or its free offset is impossible");
  }
  return guard;
}

namespace {

void LogInit(MiniTxn* mini_txn, const MutablePage& page, UndoInitKind kind, uint32_t first,
             uint32_t second, Bytes summary) {
  std::byte* body =
      mini_txn->Log(RecordType::kUndoPageInit, page, kUndoInitBytes + summary.size());
  body[0] = static_cast<std::byte>(kind);
  StoreLe<uint32_t>(body + 1, first);
  StoreLe<uint32_t>(body + 5, second);
  std::copy(summary.begin(), summary.end(), body + kUndoInitBytes);
}

}  // namespace

void UndoStreams::Impl::InitPage(MiniTxn* mini_txn, const MutablePage& page, UndoPlace place,
                                 const UndoSummary& summary) const {
  InitUndoPage({page.bytes, page_size()}, page.id, place, summary);
  LogInit(mini_txn, page, UndoInitKind::kStream, place.stream, place.previous.value(),
          {page.bytes + kUndoSummaryOffset, kUndoSummaryBytes});
}

Status UndoStreams::Create() {
  Impl& impl = *impl_;
  Status status = impl.allocator->CreateSpace(impl.space);
  if (!status.ok()) return status;
  const auto page_size = static_cast<uint32_t>(impl.page_size());
  const uint32_t per_page = DirectorySlotsPerPage(page_size);
  const uint32_t count = (kUndoStreamsMax + per_page - 1) / per_page;
  Result<PageReservation> reservation = impl.allocator->Reserve(impl.space, count);
  if (!reservation.ok()) return reservation.status();
  // From the last to the first, so that each can name its successor.
  PageNumber next = kNoPage;
  impl.directory.assign(count, kNoPage);
  for (uint32_t i = count; i-- > 0;) {
    MiniTxn mini_txn(impl.pool);
    status = mini_txn.Start(kPageGroupBytes);
    if (!status.ok()) return status;
    Result<PageNumber> page = impl.allocator->Allocate(&mini_txn, &reservation.value(), kNoPage);
    if (!page.ok()) return page.status();
    const PageId id = impl.IdOf(page.value());
    Result<MutablePage> fixed = mini_txn.FixNew(id);
    if (!fixed.ok()) {
      // The instance was not created: nobody will ever look at the page.
      mini_txn.Commit();
      return fixed.status();
    }
    InitUndoDirectoryPage({fixed->bytes, page_size}, id, next, i * per_page);
    LogInit(&mini_txn, fixed.value(), UndoInitKind::kDirectory, next.value(), i * per_page, {});
    mini_txn.Commit();
    next = page.value();
    impl.directory[i] = next;
  }
  return impl.allocator->WriteCounter(impl.space, next.value());
}

Result<MutablePage> UndoStreams::Impl::HoldDirectory(MiniTxn* mini_txn, uint32_t stream) const {
  const uint32_t per_page = DirectorySlotsPerPage(page_size());
  const PageNumber page = directory[stream / per_page];
  Result<MutablePage> fixed = mini_txn->Fix(IdOf(page));
  if (fixed.ok() && !IsUndoDirectoryPage(fixed->bytes)) {
    return Damage(page, "the page is not an undo directory page");
  }
  return fixed;
}

DirectorySlot UndoStreams::Impl::SlotIn(const MutablePage& page, uint32_t stream) const {
  const uint32_t place = stream % DirectorySlotsPerPage(page_size());
  return LoadDirectorySlot(page.bytes + kDirectorySlotsOffset + place * kDirectorySlotBytes);
}

void UndoStreams::Impl::SetSlot(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
                                const DirectorySlot& slot) const {
  const uint32_t place = stream % DirectorySlotsPerPage(page_size());
  std::byte* body = mini_txn->Log(RecordType::kUndoDirectory, page, 2 + kDirectorySlotUsedBytes);
  StoreLe<uint16_t>(body, static_cast<uint16_t>(place));
  StoreDirectorySlot(body + 2, slot);
  ROWAN_CHECK(PutDirectorySlot({page.bytes, page_size()}, place,
                               {body + 2, kDirectorySlotUsedBytes}));
}

void UndoStreams::Impl::SetTail(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
                                PageNumber tail) const {
  DirectorySlot slot = SlotIn(page, stream);
  slot.tail = tail;
  SetSlot(mini_txn, page, stream, slot);
}

void UndoStreams::Impl::AddStream(std::unique_ptr<UndoStream> stream) {
  const uint32_t number = stream->number;
  streams[number].store(stream.release(), std::memory_order_release);
  stream_count.store(number + 1, std::memory_order_release);
}

Result<UndoStream*> UndoStreams::Impl::CreateStream() {
  std::lock_guard lock(create_mutex);
  const uint32_t number = stream_count.load(std::memory_order_relaxed);
  if (number == kUndoStreamsMax) {
    return Status(Code::kBusy, "too many writing transactions at the same time");
  }
  Result<PageReservation> reservation = allocator->Reserve(space, 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(pool);
  Status status = mini_txn.Start(kPageGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> directory_page = HoldDirectory(&mini_txn, number);
  if (!directory_page.ok()) return directory_page.status();
  Result<PageNumber> page = allocator->Allocate(&mini_txn, &reservation.value(), kNoPage);
  if (!page.ok()) return page.status();
  Result<MutablePage> fixed = mini_txn.FixNew(IdOf(page.value()));
  if (!fixed.ok()) {
    allocator->Free(&mini_txn, IdOf(page.value())).Ignore();  // bitmap page is held: cannot fail
    mini_txn.Commit();
    return fixed.status();
  }
  InitPage(&mini_txn, fixed.value(), {number, kNoPage}, {});
  SetSlot(&mini_txn, directory_page.value(), number,
          {page.value(), page.value(), kUndoRecordsOffset, page.value()});
  mini_txn.Commit();
  auto stream = std::make_unique<UndoStream>();
  stream->number = number;
  stream->tail = stream->head = page.value();
  stream->free = stream->begin = kUndoRecordsOffset;
  stream->start = {page.value(), kUndoRecordsOffset};
  UndoStream* created = stream.get();
  AddStream(std::move(stream));
  return created;
}

Status UndoStreams::Impl::TakeStream(Txn* txn) {
  // The thread's own stack first; every other one before a stream is created.
  const uint32_t home = ThreadShard() % kFreeShards;
  for (uint32_t step = 0; step < kFreeShards && txn->stream == nullptr; ++step) {
    FreeShard& shard = free_shards[(home + step) % kFreeShards];
    shard.latch.LockExclusive();
    if (!shard.streams.empty()) {
      txn->stream = shard.streams.back();
      shard.streams.pop_back();
    }
    shard.latch.UnlockExclusive();
  }
  if (txn->stream != nullptr) return Status::Ok();
  Result<UndoStream*> created = CreateStream();
  if (!created.ok()) return created.status();
  txn->stream = created.value();
  return Status::Ok();
}

void UndoStreams::Impl::GiveStream(UndoStream* stream) {
  FreeShard& shard = free_shards[ThreadShard() % kFreeShards];
  shard.latch.LockExclusive();
  shard.streams.push_back(stream);
  shard.latch.UnlockExclusive();
}

void UndoStreams::ReturnStream(Txn* txn) {
  impl_->GiveStream(txn->stream);
  txn->stream = nullptr;
}

Status UndoStreams::EnsureRoom(Txn* txn, size_t payload_bytes) {
  const size_t page_size = impl_->page_size();
  if (payload_bytes > MaxPayloadBytes(static_cast<uint32_t>(page_size))) {
    return Status(Code::kTooBig, "the undo record is too large for the page size");
  }
  if (txn->stream == nullptr) {
    const Status status = impl_->TakeStream(txn);
    if (!status.ok()) return status;
  }
  size_t bytes = payload_bytes + kUndoFixedBytes + kVarintBytesMax;
  if (txn->undo_start.page == kNoPage) bytes += kTxnHeaderBytes;
  if (txn->stream->free + bytes <= UndoRecordsEnd(page_size)) return Status::Ok();
  return impl_->AddPage(txn);
}

Status UndoStreams::Impl::AddPage(Txn* txn) {
  UndoStream* stream = txn->stream;
  Result<PageReservation> reservation = allocator->Reserve(space, 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(pool);
  const Status status = mini_txn.Start(kPageGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> tail = Hold(&mini_txn, stream->tail);
  if (!tail.ok()) return tail.status();
  Result<MutablePage> directory_page = HoldDirectory(&mini_txn, stream->number);
  if (!directory_page.ok()) return directory_page.status();
  Result<PageNumber> page = allocator->Allocate(&mini_txn, &reservation.value(), stream->tail);
  if (!page.ok()) return page.status();
  Result<MutablePage> fixed = mini_txn.FixNew(IdOf(page.value()));
  if (!fixed.ok()) {
    allocator->Free(&mini_txn, IdOf(page.value())).Ignore();  // bitmap page is held: cannot fail
    mini_txn.Commit();
    return fixed.status();
  }
  UndoSummary summary;
  summary.begun = stream->begun;
  if (txn->undo_start.page != kNoPage) {
    summary.txn = txn->txn_id();
    summary.header = {txn->undo_start.page, txn->undo_start.offset};
    summary.records = txn->undo_records;
  }
  InitPage(&mini_txn, fixed.value(), {stream->number, stream->tail}, summary);
  const PageNumber before_tail = UndoPreviousOf(tail->bytes);
  SetUndoLinks(tail->bytes, before_tail, page.value());
  std::byte* body = mini_txn.Log(RecordType::kUndoLinks, tail.value(), 8);
  StoreLe<uint32_t>(body, before_tail.value());
  StoreLe<uint32_t>(body + 4, page->value());
  SetTail(&mini_txn, directory_page.value(), stream->number, page.value());
  mini_txn.Commit();
  stream->tail = page.value();
  stream->free = stream->begin = kUndoRecordsOffset;
  return Status::Ok();
}

Status UndoStreams::Read(UndoPointer pointer, UndoRecordCopy* record) {
  Result<PageGuard> guard = impl_->Look(pointer.page);
  if (!guard.ok()) return guard.status();
  UndoRecordInPage found;
  if (pointer.offset < UndoRecordsBegin(guard->page()) ||
      !ParseUndoRecord(guard->page(), pointer.offset, UndoFreeOf(guard->page()), &found)) {
    return impl_->Damage(pointer.page, "a pointer leads to no undo record");
  }
  record->type = found.type;
  record->index = found.index;
  record->payload.assign(found.payload.begin(), found.payload.end());
  return Status::Ok();
}

uint32_t UndoStreams::stream_count() const {
  return impl_->stream_count.load(std::memory_order_acquire);
}
BufferPool* UndoStreams::pool() const { return impl_->pool; }

bool UndoStreams::HasHistory(uint32_t stream) const {
  return impl_->StreamAt(stream)->history.load(std::memory_order_acquire) != 0;
}
uint64_t UndoStreams::HistoryLength() const {
  return impl_->history.load(std::memory_order_relaxed);
}

UndoStatistics UndoStreams::Statistics() const {
  UndoStatistics statistics{.streams = stream_count(), .transactions_to_purge = HistoryLength()};
  Result<SpaceStatistics> space = impl_->allocator->Statistics(impl_->space);
  if (!space.ok()) return statistics;  // logged by its finder
  // Space header, bitmap pages and directory.
  const uint32_t group_pages = GroupPages(impl_->page_size());
  const uint32_t bitmap_pages = (space->file_pages + group_pages - 1) / group_pages;
  statistics.file_pages = space->file_pages;
  statistics.pages = space->used_pages - 1 - bitmap_pages - impl_->directory.size();
  return statistics;
}

}  // namespace rowan
