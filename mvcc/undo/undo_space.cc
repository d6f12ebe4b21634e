// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_space.h"

#include <algorithm>

#include "base/assertions.h"
#include "base/logging.h"

namespace rowan {
namespace {

void LogInit(MiniTxn* mini_txn, const MutablePage& page, UndoInitKind kind, uint32_t first,
             uint32_t second, Bytes summary) {
  std::byte* body = mini_txn->Log(RecordType::kUndoPageInit, page, kUndoInitBytes + summary.size());
  body[0] = static_cast<std::byte>(kind);
  StoreLe<uint32_t>(body + 1, first);
  StoreLe<uint32_t>(body + 5, second);
  std::copy(summary.begin(), summary.end(), body + kUndoInitBytes);
}

}  // namespace

Status UndoSpace::Damage(PageNumber page, const char* what) const {
  return pool_->ReportDamage(IdOf(page), what);
}

Result<MutablePage> UndoSpace::Fix(MiniTxn* mini_txn, PageNumber page) const {
  ROWAN_DCHECK(page != kNoPage);
  const MutablePage held = mini_txn->FindHeld(IdOf(page));
  if (held.valid()) return held;
  Result<MutablePage> fixed = mini_txn->Fix(IdOf(page));
  if (fixed.ok() && !IsUndoPage({fixed->bytes, page_size()})) {
    return Damage(page, "it is not an undo page, or its free offset is impossible");
  }
  return fixed;
}

Result<MutablePage> UndoSpace::Fix(MiniTxn* mini_txn, PageNumber page,
                                   const OptimisticPage& left) const {
  const uint64_t key = IdOf(page).Packed();
  if (left.frame != nullptr && left.frame->page_id.load(std::memory_order_relaxed) == key) {
    PageGuard guard = pool_->TryFixUnchanged(left);
    if (guard.held()) return mini_txn->Adopt(std::move(guard));
  }
  return Fix(mini_txn, page);
}

Result<PageGuard> UndoSpace::FixShared(PageNumber page) const {
  ROWAN_DCHECK(page != kNoPage);
  Result<PageGuard> guard = pool_->Fix(IdOf(page), LatchMode::kShared);
  if (guard.ok() && !IsUndoPage({guard->page(), page_size()})) {
    return Damage(page, "it is not an undo page, or its free offset is impossible");
  }
  return guard;
}

void UndoSpace::InitPage(MiniTxn* mini_txn, const MutablePage& page, UndoPlace place,
                         const UndoSummary& summary) const {
  ROWAN_DCHECK(place.stream < kUndoStreamsMax && page.id.space == space_);
  InitUndoPage({page.bytes, page_size()}, page.id, place, summary);
  LogInit(mini_txn, page, UndoInitKind::kStream, place.stream, place.previous.value(),
          {page.bytes + kUndoSummaryOffset, kUndoSummaryBytes});
}

Status UndoSpace::Create() {
  Status status = allocator_->CreateSpace(space_);
  if (!status.ok()) return status;
  const auto page_bytes = static_cast<uint32_t>(page_size());
  const uint32_t per_page = DirectorySlotsPerPage(page_bytes);
  const uint32_t count = (kUndoStreamsMax + per_page - 1) / per_page;
  Result<PageReservation> reservation = allocator_->Reserve(space_, count);
  if (!reservation.ok()) return reservation.status();
  // From last to first, so that each can name its successor.
  PageNumber next = kNoPage;
  directory_.assign(count, kNoPage);
  for (uint32_t i = count; i-- > 0;) {
    MiniTxn mini_txn(pool_);
    status = mini_txn.Start(kUndoPageGroupBytes);
    if (!status.ok()) return status;
    Result<PageNumber> page = allocator_->Allocate(&mini_txn, &reservation.value(), kNoPage);
    if (!page.ok()) return page.status();
    const PageId id = IdOf(page.value());
    Result<MutablePage> fixed = mini_txn.FixNew(id);
    if (!fixed.ok()) {
      // The instance was not created: the page will never be read.
      mini_txn.Commit();
      return fixed.status();
    }
    InitUndoDirectoryPage({fixed->bytes, page_bytes}, id, next, i * per_page);
    LogInit(&mini_txn, fixed.value(), UndoInitKind::kDirectory, next.value(), i * per_page, {});
    mini_txn.Commit();
    next = page.value();
    directory_[i] = next;
  }
  return allocator_->WriteCounter(space_, next.value());
}

Result<MutablePage> UndoSpace::FixDirectory(MiniTxn* mini_txn, uint32_t stream) const {
  const uint32_t per_page = DirectorySlotsPerPage(page_size());
  ROWAN_DCHECK(stream / per_page < directory_.size());
  const PageNumber page = directory_[stream / per_page];
  Result<MutablePage> fixed = mini_txn->Fix(IdOf(page));
  if (fixed.ok() && !IsUndoDirectoryPage(fixed->bytes)) {
    return Damage(page, "it is not an undo directory page");
  }
  return fixed;
}

DirectorySlot UndoSpace::SlotIn(const MutablePage& page, uint32_t stream) const {
  ROWAN_DCHECK(IsUndoDirectoryPage(page.bytes));
  const uint32_t place = stream % DirectorySlotsPerPage(page_size());
  return LoadDirectorySlot(page.bytes + kDirectorySlotsOffset + place * kDirectorySlotBytes);
}

void UndoSpace::SetSlot(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
                        const DirectorySlot& slot) const {
  const uint32_t place = stream % DirectorySlotsPerPage(page_size());
  ROWAN_DCHECK(IsUndoDirectoryPage(page.bytes));
  ROWAN_DCHECK(page.id.page == directory_[stream / DirectorySlotsPerPage(page_size())]);
  std::byte* body = mini_txn->Log(RecordType::kUndoDirectory, page, 2 + kDirectorySlotUsedBytes);
  StoreLe<uint16_t>(body, static_cast<uint16_t>(place));
  StoreDirectorySlot(body + 2, slot);
  ROWAN_CHECK(
      PutDirectorySlot({page.bytes, page_size()}, place, {body + 2, kDirectorySlotUsedBytes}));
}

void UndoSpace::SetTail(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
                        PageNumber tail) const {
  DirectorySlot slot = SlotIn(page, stream);
  ROWAN_DCHECK(slot.head != kNoPage && tail != kNoPage);
  slot.tail = tail;
  SetSlot(mini_txn, page, stream, slot);
}

void UndoSpace::SetBytes(MiniTxn* mini_txn, const MutablePage& page, uint16_t offset, Bytes bytes) {
  ROWAN_DCHECK(offset >= UndoRecordsBegin(page.bytes));
  ROWAN_DCHECK(offset + bytes.size() <= UndoFreeOf(page.bytes));
  std::copy(bytes.begin(), bytes.end(), page.bytes + offset);
  std::byte* body = mini_txn->Log(RecordType::kUndoSetState, page, 2 + bytes.size());
  StoreLe<uint16_t>(body, offset);
  std::copy(bytes.begin(), bytes.end(), body + 2);
}

void UndoSpace::SetLinks(MiniTxn* mini_txn, const MutablePage& page, PageNumber previous,
                         PageNumber next) {
  ROWAN_DCHECK(page.id.page != previous && page.id.page != next);
  SetUndoLinks(page.bytes, previous, next);
  std::byte* body = mini_txn->Log(RecordType::kUndoLinks, page, 8);
  StoreLe<uint32_t>(body, previous.value());
  StoreLe<uint32_t>(body + 4, next.value());
}

Status UndoSpace::LoadDirectory(std::vector<std::pair<uint32_t, DirectorySlot>>* slots) {
  Result<uint64_t> first = allocator_->ReadCounter(space_);
  if (!first.ok()) return first.status();
  directory_.clear();
  uint32_t slot_number = 0;
  for (PageNumber page(static_cast<uint32_t>(first.value())); page != kNoPage;) {
    Result<PageGuard> guard = pool_->Fix(IdOf(page), LatchMode::kShared);
    if (!guard.ok()) return guard.status();
    const std::byte* bytes = guard->page();
    if (PageTypeOf(bytes) == PageType::kUndoDirectory && PageVersionOf(bytes) > kUndoPageVersion) {
      LogError("The undo space was written by a newer version of Rowan (directory format {}).",
               PageVersionOf(bytes));
      return Status(Code::kNewerFormat, "undo space written by a newer version");
    }
    if (!IsUndoDirectoryPage(bytes) ||
        LoadLe<uint32_t>(bytes + kDirectoryFirstOffset) != slot_number) {
      return Damage(page, "it is not the next undo directory page");
    }
    directory_.push_back(page);
    for (uint32_t i = 0; i < DirectorySlotsPerPage(page_size()); ++i, ++slot_number) {
      const DirectorySlot slot =
          LoadDirectorySlot(bytes + kDirectorySlotsOffset + i * kDirectorySlotBytes);
      if (slot.head != kNoPage) slots->emplace_back(slot_number, slot);
    }
    page = PageNumber(LoadLe<uint32_t>(bytes + kDirectoryNextOffset));
  }
  return directory_.empty() ? Status(Code::kCorrupt, "the undo space has no directory")
                            : Status::Ok();
}

}  // namespace rowan
