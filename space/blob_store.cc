// SPDX-License-Identifier: GPL-2.0-only
#include "space/blob_store.h"

#include <algorithm>
#include <array>
#include <utility>

#include "base/assertions.h"
#include "buffer/buffer_redo.h"
#include "space/blob_page.h"

namespace rowan {
namespace {

/// Pages prefetched for a reader: chains are mostly laid out sequentially.
constexpr uint32_t kReadAheadPages = 8;
/// Bodies other than the blob's bytes: headers, links, bitmap bits, and the caller's undo record.
constexpr uint32_t kLogOverheadBytes = 1024;

uint32_t ChainPages(uint64_t size_bytes, size_t capacity) {
  return static_cast<uint32_t>(std::max<uint64_t>(1, (size_bytes + capacity - 1) / capacity));
}

void LogBlobPage(MiniTxn* mini_txn, const MutablePage& page, const BlobRef& ref, uint32_t position,
                 Bytes data) {
  const size_t size = blob_layout::kRecordHeader + data.size();
  std::byte* body = mini_txn->Log(RecordType::kBlobPage, page, size);
  StoreLe<uint32_t>(body, ref.birth);
  StoreLe<uint32_t>(body + 4, position);
  StoreLe<uint32_t>(body + 8, static_cast<uint32_t>(data.size()));
  StoreLe<uint32_t>(body + 12, static_cast<uint32_t>(ref.size_bytes));
  if (!data.empty()) std::memcpy(body + blob_layout::kRecordHeader, data.data(), data.size());
  const MutableBytes target(page.bytes, mini_txn->pool()->page_size_bytes());
  ROWAN_CHECK(LoadBlobPageRecord(target, page.id, {body, size}));
}

void LinkTo(MiniTxn* mini_txn, const MutablePage& page, PageNumber next) {
  std::array<std::byte, 4> bytes;
  StoreLe<uint32_t>(bytes.data(), next.value());
  LogPageBytes(mini_txn, page, blob_layout::kNext, bytes);
}

bool IsSet(BlobStore::Interrupted interrupted) {
  return interrupted != nullptr && interrupted->load(std::memory_order_relaxed);
}

Status BrokenChain(BufferPool* pool, PageId id) {
  return pool->ReportDamage(id, "it is not the page of an off-page value that its row refers to");
}

}  // namespace

void StoreBlobRef(std::byte* target, const BlobRef& ref) {
  StoreLe<uint32_t>(target, ref.space.value());
  StoreLe<uint32_t>(target + 4, ref.first_page.value());
  StoreLe<uint32_t>(target + 8, static_cast<uint32_t>(ref.size_bytes));
  StoreLe<uint32_t>(target + 12, ref.birth);
}

BlobRef LoadBlobRef(const std::byte* source) {
  return {SpaceId(LoadLe<uint32_t>(source)), PageNumber(LoadLe<uint32_t>(source + 4)),
          LoadLe<uint32_t>(source + 8), LoadLe<uint32_t>(source + 12)};
}

Result<BlobRef> BlobStore::Write(SpaceId space, Bytes value, LogUndo log_undo,
                                 Interrupted interrupted) {
  if (value.size() > kBlobBytesMax) return Status(Code::kTooBig, "value of 4 GiB or more");
  BufferPool* pool = allocator_->pool();
  const size_t capacity = BlobPageCapacity(pool->page_size_bytes());
  BlobRef ref{space, kNoPage, value.size(), 0};
  PageNumber previous = kNoPage;
  for (uint32_t position = 0; position < ChainPages(value.size(), capacity); ++position) {
    if (IsSet(interrupted)) return Status(Code::kInterrupted);
    const size_t begin = position * capacity;
    const Bytes data = value.subspan(begin, std::min(capacity, value.size() - begin));
    Result<PageReservation> reservation = allocator_->Reserve(space, 1);
    if (!reservation.ok()) return reservation.status();
    MiniTxn mini_txn(pool);
    Status status = mini_txn.Start(pool->page_size_bytes() + kLogOverheadBytes);
    if (!status.ok()) return status;
    if (position == 0) ref.birth = static_cast<uint32_t>(pool->log()->tail().value());
    status = WriteOnePage(&mini_txn, &*reservation, &ref, position, &previous, data, log_undo);
    if (mini_txn.has_changes()) mini_txn.Commit();
    if (!status.ok()) return status;
  }
  return ref;
}

Status BlobStore::WriteOnePage(MiniTxn* mini_txn, PageReservation* reservation, BlobRef* ref,
                               uint32_t position, PageNumber* previous, Bytes data,
                               LogUndo log_undo) {
  MutablePage before;
  if (position > 0) {
    Result<MutablePage> fixed = mini_txn->Fix({ref->space, *previous});
    if (!fixed.ok()) return fixed.status();
    before = *fixed;
  }
  Result<PageNumber> page = allocator_->Allocate(mini_txn, reservation, *previous);
  if (!page.ok()) return page.status();
  const PageId id{ref->space, *page};
  const Status status = FillNewPage(mini_txn, id, ref, position, data, log_undo);
  if (!status.ok()) {
    // The group is committed with a page that was taken and returned: nothing refers to it.
    allocator_->Free(mini_txn, id).Ignore();  // its bitmap page is held; nothing to read can fail
    return status;
  }
  if (position > 0) LinkTo(mini_txn, before, *page);
  *previous = *page;
  return Status::Ok();
}

Status BlobStore::FillNewPage(MiniTxn* mini_txn, PageId id, BlobRef* ref, uint32_t position,
                              Bytes data, LogUndo log_undo) {
  Result<MutablePage> page = mini_txn->FixNew(id);
  if (!page.ok()) return page.status();
  if (position == 0) ref->first_page = id.page;
  LogBlobPage(mini_txn, *page, *ref, position, data);
  if (position > 0 || !log_undo) return Status::Ok();
  return log_undo(mini_txn, *ref);
}

Status BlobStore::Read(const BlobRef& ref, uint64_t offset, MutableBytes target,
                       Interrupted interrupted) {
  if (offset > ref.size_bytes || target.size() > ref.size_bytes - offset) {
    return Status(Code::kInvalidArgument, "range outside the value");
  }
  PageId id;
  const Status status = ReadChain(ref, offset, target, {FixHint::kScan, interrupted}, &id);
  return status.Is(Code::kNotFound) ? BrokenChain(allocator_->pool(), id) : status;
}

Status BlobStore::TryRead(const BlobRef& ref, MutableBytes target) {
  PageId id;
  const Status status = ReadChain(ref, 0, target, {FixHint::kSpeculative}, &id);
  return status.Is(Code::kCorrupt) ? Status(Code::kNotFound) : status;
}

Status BlobStore::ReadChain(const BlobRef& ref, uint64_t offset, MutableBytes target,
                            ReadManner manner, PageId* id) {
  BufferPool* pool = allocator_->pool();
  const size_t page_bytes = pool->page_size_bytes();
  const size_t capacity = BlobPageCapacity(page_bytes);
  const uint32_t pages = ChainPages(offset + target.size(), capacity);
  *id = {ref.space, ref.first_page};
  size_t done = 0;
  for (uint32_t position = 0; position < pages; ++position) {
    if (IsSet(manner.interrupted)) return Status(Code::kInterrupted);
    if (position % kReadAheadPages == 0 && pages - position > 1) {
      std::array<PageId, kReadAheadPages> ahead;
      const uint32_t number = std::min(kReadAheadPages, pages - position);
      for (uint32_t i = 0; i < number; ++i) {
        ahead[i] = {id->space, PageNumber(id->page.value() + i)};
      }
      pool->Prefetch(std::span<const PageId>(ahead.data(), number));
    }
    Result<PageGuard> guard = pool->Fix(*id, LatchMode::kShared, manner.hint);
    if (!guard.ok()) return guard.status();
    const BlobPageView page({guard->page(), page_bytes});
    const uint64_t begin = position * capacity;
    const size_t expected = std::min<uint64_t>(capacity, ref.size_bytes - begin);
    if (!page.Is(ref.birth, position) || page.data().size() != expected) {
      return Status(Code::kNotFound);
    }
    if (begin + expected > offset && done < target.size()) {
      const size_t from = offset > begin ? offset - begin : 0;
      const size_t length = std::min(expected - from, target.size() - done);
      std::memcpy(target.data() + done, page.data().data() + from, length);
      done += length;
    }
    if (position + 1 < pages && page.next() == kNoPage) return Status(Code::kNotFound);
    id->page = page.next();
  }
  return Status::Ok();
}

Status BlobStore::Free(const BlobRef& ref, WorkBudget* budget) {
  for (;;) {
    MiniTxn mini_txn(allocator_->pool());
    Status status = mini_txn.Start(kLogOverheadBytes);
    if (!status.ok()) return status;
    bool done = false;
    status = FreeOnePage(&mini_txn, ref, &done);
    if (mini_txn.has_changes()) mini_txn.Commit();
    if (!status.ok() || done) return status;
    if (!budget->Spend()) return Status(Code::kBusy, "the rest of a value is freed later");
  }
}

Status BlobStore::FreeOnePage(MiniTxn* mini_txn, const BlobRef& ref, bool* done) {
  const size_t page_bytes = allocator_->pool()->page_size_bytes();
  *done = true;
  Result<PageGuard> found =
      allocator_->FixInUse({ref.space, ref.first_page}, LatchMode::kExclusive);
  if (found.status().Is(Code::kNotFound)) return Status::Ok();
  if (!found.ok()) return found.status();
  const MutablePage first = mini_txn->Adopt(std::move(*found));
  const BlobPageView head({first.bytes, page_bytes});
  if (!head.Is(ref.birth, 0) || head.whole_size() != ref.size_bytes) {
    return Status::Ok();  // freed before; the page has another owner now
  }
  const PageNumber second = head.next();
  if (second == kNoPage) {
    const Status status = allocator_->Free(mini_txn, first.id);
    if (!status.ok()) return status;
    mini_txn->DiscardAtCommit(first);
    return Status::Ok();
  }
  // The second page is freed and the first takes over its link: a repeat continues from there.
  const PageId second_id{ref.space, second};
  Result<MutablePage> next = mini_txn->Fix(second_id);
  if (!next.ok()) return next.status();
  const BlobPageView page({next->bytes, page_bytes});
  if (PageTypeOf(next->bytes) != PageType::kBlob) {
    return BrokenChain(allocator_->pool(), second_id);
  }
  const PageNumber third = page.next();
  const Status status = allocator_->Free(mini_txn, second_id);
  if (!status.ok()) return status;
  LinkTo(mini_txn, first, third);
  mini_txn->DiscardAtCommit(*next);
  *done = false;
  return Status::Ok();
}

Status BlobStore::VisitPages(const BlobRef& ref, FunctionRef<bool(PageNumber)> visit) {
  BufferPool* pool = allocator_->pool();
  const size_t page_bytes = pool->page_size_bytes();
  PageId id{ref.space, ref.first_page};
  for (uint32_t position = 0; id.page != kNoPage; ++position) {
    Result<PageGuard> guard = allocator_->FixInUse(id);
    if (guard.status().Is(Code::kNotFound)) return Status::Ok();
    if (!guard.ok()) return guard.status();
    const BlobPageView page({guard->page(), page_bytes});
    // A chain that is being freed lacks pages between its first one and the rest.
    if (!page.IsPartOf(ref.birth) || (position == 0 && !page.Is(ref.birth, 0))) {
      return Status::Ok();
    }
    if (!visit(id.page)) return Status(Code::kInterrupted);
    id.page = page.next();
    if (position > ChainPages(ref.size_bytes, BlobPageCapacity(page_bytes))) {
      return BrokenChain(pool, id);
    }
  }
  return Status::Ok();
}

Status BlobStore::Check(const BlobRef& ref) {
  BufferPool* pool = allocator_->pool();
  const size_t page_bytes = pool->page_size_bytes();
  const size_t capacity = BlobPageCapacity(page_bytes);
  const uint32_t pages = ChainPages(ref.size_bytes, capacity);
  PageId id{ref.space, ref.first_page};
  for (uint32_t position = 0; position < pages; ++position) {
    Result<bool> allocated = allocator_->IsAllocated(id);
    if (!allocated.ok()) return allocated.status();
    Result<PageGuard> guard = pool->Fix(id, LatchMode::kShared, FixHint::kScan);
    if (!guard.ok()) return guard.status();
    const BlobPageView page({guard->page(), page_bytes});
    const size_t expected = std::min<uint64_t>(capacity, ref.size_bytes - position * capacity);
    if (!*allocated || !page.Is(ref.birth, position) || page.data().size() != expected) {
      return BrokenChain(pool, id);
    }
    const bool last = position + 1 == pages;
    if ((page.next() == kNoPage) != last) return BrokenChain(pool, id);
    id.page = page.next();
  }
  return Status::Ok();
}

}  // namespace rowan
