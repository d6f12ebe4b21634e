// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_streams.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "base/assertions.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "base/thread_shard.h"
#include "space/space_pages.h"

namespace rowan {

UndoStreams::UndoStreams(PageAllocator* allocator, SpaceId space)
    : space_(allocator, space),
      streams_(std::make_unique<std::atomic<UndoStream*>[]>(kUndoStreamsMax)) {}

UndoStreams::~UndoStreams() {
  for (uint32_t i = 0; i < stream_count(); ++i) delete At(i);
}

void UndoStreams::Add(std::unique_ptr<UndoStream> stream) {
  const uint32_t number = stream->number;
  ROWAN_DCHECK(number == stream_count() && number < kUndoStreamsMax);
  streams_[number].store(stream.release(), std::memory_order_release);
  stream_count_.store(number + 1, std::memory_order_release);
}

Result<UndoStream*> UndoStreams::CreateStream() {
  const MutexLock lock(&create_mutex_);
  const uint32_t number = stream_count_.load(std::memory_order_relaxed);
  if (number == kUndoStreamsMax) {
    return Status(Code::kBusy, "too many writing transactions at the same time");
  }
  auto stream = std::make_unique<UndoStream>();  // first: the log must not know one more than we
  Result<PageReservation> reservation = space_.allocator()->Reserve(space_.id(), 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(space_.pool());
  Status status = mini_txn.Start(kUndoPageGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> directory_page = space_.FixDirectory(&mini_txn, number);
  if (!directory_page.ok()) return directory_page.status();
  Result<MutablePage> fixed =
      space_.allocator()->AllocateNew(&mini_txn, &reservation.value(), kNoPage);
  if (!fixed.ok()) {
    if (mini_txn.has_changes()) mini_txn.Commit();
    return fixed.status();
  }
  const PageNumber page = fixed->id.page;
  space_.InitPage(&mini_txn, fixed.value(), {number, kNoPage}, {});
  space_.SetSlot(&mini_txn, directory_page.value(), number, {page, page, kUndoRecordsOffset, page});
  mini_txn.Commit();
  stream->number = number;
  stream->tail = stream->head = page;
  stream->free = stream->begin = kUndoRecordsOffset;
  stream->start = {page, kUndoRecordsOffset};
  UndoStream* created = stream.get();
  Add(std::move(stream));
  return created;
}

Status UndoStreams::Acquire(Txn* txn) {
  ROWAN_DCHECK(txn->undo.stream == nullptr && txn->undo.empty());
  ROWAN_DCHECK(txn->is_writer());
  // The thread's own stack first; every other one before a stream is created.
  const uint32_t home = ThreadShard() % kFreeShards;
  for (uint32_t step = 0; step < kFreeShards && txn->undo.stream == nullptr; ++step) {
    FreeShard& shard = free_shards_[(home + step) % kFreeShards];
    shard.latch.LockExclusive();
    while (!shard.streams.empty() && txn->undo.stream == nullptr) {
      UndoStream* const free = shard.streams.back();
      shard.streams.pop_back();
      if (!free->damaged.load(std::memory_order_relaxed)) txn->undo.stream = free;
    }
    shard.latch.UnlockExclusive();
  }
  if (txn->undo.stream != nullptr) return Status::Ok();
  Result<UndoStream*> created = CreateStream();
  if (!created.ok()) return created.status();
  txn->undo.stream = created.value();
  return Status::Ok();
}

void UndoStreams::Release(UndoStream* stream) {
  ROWAN_DCHECK(stream == At(stream->number));
  ROWAN_DCHECK(stream->free >= stream->begin && stream->tail != kNoPage);
  const uint32_t home = ThreadShard() % kFreeShards;
  const auto put = [&](uint32_t step) {
    FreeShard& shard = free_shards_[(home + step) % kFreeShards];
    const ExclusiveLatchGuard guard(&shard.latch);
    shard.streams.push_back(stream);
    return Status::Ok();
  };
  // Without memory, the place from which it was taken still exists.
  for (uint32_t step = 0; step < kFreeShards; ++step) {
    if (OrOutOfMemory([&] { return put(step); }).ok()) return;
  }
  LogWarning("An undo stream stays unused until the next start: {}.", kMemoryRanOut);
}

void UndoStreams::Release(Txn* txn) {
  ROWAN_DCHECK(txn->undo.stream != nullptr);
  Release(txn->undo.stream);
  txn->undo.stream = nullptr;
}

bool UndoStreams::HasHistoryOfLastRun() const {
  for (uint32_t number = 0; number < stream_count(); ++number) {
    const UndoStream* const stream = At(number);
    if (stream->history_of_last_run.load(std::memory_order_acquire) != 0 &&
        !stream->damaged.load(std::memory_order_relaxed)) {
      return true;
    }
  }
  return false;
}

bool UndoStreams::MarkDamaged(UndoStream* stream) {
  if (stream->damaged.exchange(true, std::memory_order_relaxed)) return false;
  damaged_count_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

Status UndoStreams::CannotAppend(Txn* txn, Status status) {
  ROWAN_DCHECK(!status.ok() && txn->undo.stream != nullptr);
  if (!status.Is(Code::kCorrupt)) return status;
  if (MarkDamaged(txn->undo.stream)) {
    LogError(
        "The last page of undo stream {} is damaged: no more transactions are written to the "
        "stream. See \"Damage in undo\" in docs/durability.md.",
        txn->undo.stream->number);
  }
  // The transaction has written nothing there yet: its next write goes to another stream.
  if (txn->undo.empty()) txn->undo.stream = nullptr;
  return status;
}

void UndoStreams::SubtractRecords(UndoStream* stream, uint64_t records) {
  uint64_t before = stream->records.load(std::memory_order_relaxed);
  while (before != 0 &&
         !stream->records.compare_exchange_weak(before, before - std::min(before, records),
                                                std::memory_order_relaxed)) {
  }
}

UndoStreams::Backlog UndoStreams::FindBacklog(Csn horizon) const {
  Backlog backlog;
  for (uint32_t i = 0; i < stream_count(); ++i) {
    const UndoStream* stream = At(i);
    const uint64_t records = stream->records.load(std::memory_order_relaxed);
    backlog.kept += records;
    const bool blocked = stream->damaged.load(std::memory_order_relaxed) ||
                         stream->blocked.load(std::memory_order_relaxed);
    if (blocked) {
      backlog.blocked += records;
    } else if (Csn(stream->oldest_csn.load(std::memory_order_relaxed)) < horizon) {
      backlog.purgeable += records;
    }
  }
  return backlog;
}

void UndoStreams::DelayWriter() {
  const uint32_t delay_us = writer_delay_us_.load(std::memory_order_relaxed);
  if (delay_us == 0) return;
  writer_delays_.fetch_add(1, std::memory_order_relaxed);
  std::this_thread::sleep_for(std::chrono::microseconds(delay_us));
}

Status UndoStreams::AddPage(Txn* txn) {
  DelayWriter();
  UndoStream* stream = txn->undo.stream;
  Result<PageReservation> reservation = space_.allocator()->Reserve(space_.id(), 1);
  if (!reservation.ok()) return reservation.status();
  MiniTxn mini_txn(space_.pool());
  const Status status = mini_txn.Start(kUndoPageGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> tail = space_.Fix(&mini_txn, stream->tail);
  if (!tail.ok()) return CannotAppend(txn, tail.status());
  Result<MutablePage> directory_page = space_.FixDirectory(&mini_txn, stream->number);
  if (!directory_page.ok()) return directory_page.status();
  Result<MutablePage> fixed =
      space_.allocator()->AllocateNew(&mini_txn, &reservation.value(), stream->tail);
  if (!fixed.ok()) {
    if (mini_txn.has_changes()) mini_txn.Commit();
    return fixed.status();
  }
  const PageNumber page = fixed->id.page;
  UndoSummary summary;
  ROWAN_DCHECK(page != stream->tail && UndoNextOf(tail->bytes) == kNoPage);
  ROWAN_DCHECK(UndoFreeOf(tail->bytes) == stream->free);
  ROWAN_DCHECK(UndoStreamOf(tail->bytes) == stream->number);
  summary.begun = stream->begun;
  if (!txn->undo.empty()) {
    summary.txn = txn->txn_id();
    summary.header = txn->undo.header;
    summary.records = txn->undo.records;
  }
  space_.InitPage(&mini_txn, fixed.value(), {stream->number, stream->tail}, summary);
  space_.SetLinks(&mini_txn, tail.value(), UndoPreviousOf(tail->bytes), page);
  space_.SetTail(&mini_txn, directory_page.value(), stream->number, page);
  mini_txn.Commit();
  stream->tail = page;
  stream->free = stream->begin = kUndoRecordsOffset;
  return Status::Ok();
}

Status UndoStreams::DropEmptyTail(UndoStream* stream) {
  Result<PageGuard> guard = space_.FixShared(stream->tail);
  if (!guard.ok()) return guard.status();
  const PageNumber previous = UndoPreviousOf(guard->page());
  guard->Release();
  if (previous == kNoPage)
    return space_.Damage(stream->tail, "an undo page has lost its predecessor");
  MiniTxn mini_txn(space_.pool());
  Status status = mini_txn.Start(kUndoStateGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> before = space_.Fix(&mini_txn, previous);
  if (!before.ok()) return before.status();
  Result<MutablePage> tail = space_.Fix(&mini_txn, stream->tail);
  if (!tail.ok()) return tail.status();
  Result<MutablePage> directory_page = space_.FixDirectory(&mini_txn, stream->number);
  if (!directory_page.ok()) return directory_page.status();
  status = space_.allocator()->Free(&mini_txn, tail->id);
  if (!status.ok()) return status;
  space_.SetLinks(&mini_txn, before.value(), UndoPreviousOf(before->bytes), kNoPage);
  space_.SetTail(&mini_txn, directory_page.value(), stream->number, previous);
  ROWAN_DCHECK(UndoStreamOf(before->bytes) == stream->number);
  stream->SetTail(previous, before->bytes);
  mini_txn.DiscardAtCommit(tail.value());
  mini_txn.Commit();
  return Status::Ok();
}

UndoStatistics UndoStreams::Statistics() const {
  UndoStatistics statistics{.streams = stream_count(), .transactions_to_purge = HistoryLength()};
  Result<SpaceStatistics> space = space_.allocator()->Statistics(space_.id());
  if (!space.ok()) return statistics;  // logged by its finder
  // Space header, bitmap pages and directory.
  const uint32_t group_pages = GroupPages(space_.page_size());
  const uint32_t bitmap_pages = (space->file_pages + group_pages - 1) / group_pages;
  statistics.file_pages = space->file_pages;
  statistics.pages = space->used_pages - 1 - bitmap_pages - space_.directory().size();
  return statistics;
}

}  // namespace rowan
