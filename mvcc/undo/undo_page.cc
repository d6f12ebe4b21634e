// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo/undo_page.h"

#include <algorithm>
#include <array>

#include "base/assertions.h"

namespace rowan {

namespace {

void InitAnyUndoPage(MutableBytes page, PageId id, uint8_t version, UndoPlace place) {
  InitPageHeader(page, id, PageType::kUndo, version, IndexId(0));
  StoreLe<uint32_t>(page.data() + kUndoStreamOffset, place.stream);
  SetUndoLinks(page.data(), place.previous, kNoPage);
  SetUndoFree(page.data(), UndoRecordsBegin(page.data()));
  ROWAN_DCHECK(place.previous != id.page);
  ROWAN_DCHECK(IsUndoPage(page));
}

}  // namespace

void InitUndoPage(MutableBytes page, PageId id, UndoPlace place, const UndoSummary& summary) {
  InitAnyUndoPage(page, id, kUndoPageVersion, place);
  StoreUndoSummary(page.data() + kUndoSummaryOffset, summary);
}

void InitBareUndoPage(MutableBytes page, PageId id, UndoPlace place) {
  InitAnyUndoPage(page, id, kUndoPageVersionBare, place);
}

UndoSummary LoadUndoSummary(const std::byte* page) {
  ROWAN_DCHECK(HasUndoSummary(page));
  const std::byte* source = page + kUndoSummaryOffset;
  return {.txn = TxnId(LoadLe48(source)),
          .header = LoadUndoPointer(source + 6),
          .records = LoadLe<uint64_t>(source + 16),
          .begun = LoadLe<uint64_t>(source + 24)};
}

void StoreUndoSummary(std::byte* target, const UndoSummary& summary) {
  ROWAN_DCHECK((summary.txn == kNoTxn) == summary.header.IsNone());
  ROWAN_DCHECK(summary.txn != kNoTxn || summary.records == 0);
  ROWAN_DCHECK(summary.txn == kNoTxn || summary.begun != 0);
  StoreLe48(target, summary.txn.value());
  StoreUndoPointer(target + 6, summary.header);
  StoreLe<uint32_t>(target + 12, 0);
  StoreLe<uint64_t>(target + 16, summary.records);
  StoreLe<uint64_t>(target + 24, summary.begun);
}

void InitUndoDirectoryPage(MutableBytes page, PageId id, PageNumber next, uint32_t first_slot) {
  InitPageHeader(page, id, PageType::kUndoDirectory, kUndoPageVersion, IndexId(0));
  StoreLe<uint32_t>(page.data() + kDirectoryNextOffset, next.value());
  StoreLe<uint32_t>(page.data() + kDirectoryFirstOffset, first_slot);
}

bool IsUndoPage(Bytes page) {
  if (PageTypeOf(page.data()) != PageType::kUndo) return false;
  const uint8_t version = PageVersionOf(page.data());
  if (version != kUndoPageVersion && version != kUndoPageVersionBare) return false;
  const size_t free = UndoFreeOf(page.data());
  return free >= UndoRecordsBegin(page.data()) && free <= UndoRecordsEnd(page.size());
}

bool IsUndoDirectoryPage(const std::byte* page) {
  const uint8_t version = PageVersionOf(page);
  return PageTypeOf(page) == PageType::kUndoDirectory &&
         (version == kUndoPageVersion || version == kUndoPageVersionBare);
}

DirectorySlot LoadDirectorySlot(const std::byte* source) {
  return {PageNumber(LoadLe<uint32_t>(source)), PageNumber(LoadLe<uint32_t>(source + 4)),
          LoadLe<uint16_t>(source + 8), PageNumber(LoadLe<uint32_t>(source + 10)),
          (static_cast<uint8_t>(source[14]) & kDirectorySlotInside) != 0};
}

void StoreDirectorySlot(std::byte* target, const DirectorySlot& slot) {
  ROWAN_DCHECK(slot.head != kNoPage && slot.start_page != kNoPage);
  ROWAN_DCHECK(slot.start_offset != 0);
  StoreLe<uint32_t>(target, slot.head.value());
  StoreLe<uint32_t>(target + 4, slot.start_page.value());
  StoreLe<uint16_t>(target + 8, slot.start_offset);
  StoreLe<uint32_t>(target + 10, slot.tail.value());
  target[14] = static_cast<std::byte>(slot.start_is_inside ? kDirectorySlotInside : 0);
}

bool PutDirectorySlot(MutableBytes page, uint32_t place, Bytes slot) {
  if (place >= DirectorySlotsPerPage(page.size())) return false;
  if (slot.size() == kDirectorySlotUsedBytes) {
    SetPageVersion(page.data(), kUndoPageVersion);
  } else if (slot.size() != kDirectorySlotBytesBare) {
    return false;
  }
  std::copy(slot.begin(), slot.end(),
            page.data() + kDirectorySlotsOffset + place * kDirectorySlotBytes);
  return true;
}

bool ParseUndoRecord(const std::byte* page, size_t offset, size_t end, UndoRecordInPage* record) {
  if (offset + kUndoFixedBytes > end) return false;
  const std::byte* start = page + offset;
  const size_t length = LoadLe<uint16_t>(start);
  if (length <= kUndoFixedBytes || offset + length > end) return false;
  const std::byte* behind = start + length - 2;
  if (LoadLe<uint16_t>(behind) != length) return false;
  const auto type = static_cast<uint8_t>(start[kUndoTypeOffset]);
  uint64_t index = 0;
  const std::byte* payload = GetVarint(start + kUndoTypeOffset + 1, behind, &index);
  if (payload == nullptr || (type & kUndoTypeMask) == 0) return false;
  record->type = static_cast<UndoType>(type & kUndoTypeMask);
  record->done = (type & kUndoDoneBit) != 0;
  record->rolled_back = (type & kUndoRolledBackBit) != 0;
  record->index = IndexId(index);
  record->payload = {payload, static_cast<size_t>(behind - payload)};
  record->length = static_cast<uint16_t>(length);
  return true;
}

size_t UndoRecordBefore(const std::byte* page, size_t end) {
  const size_t begin = UndoRecordsBegin(page);
  if (end < begin + kUndoFixedBytes) return 0;
  const size_t length = LoadLe<uint16_t>(page + end - 2);
  return length > kUndoFixedBytes && length <= end - begin ? end - length : 0;
}

std::byte* WriteUndoRecord(std::byte* target, UndoType type, IndexId index,
                           std::initializer_list<Bytes> payload_parts) {
  std::byte* position = target + kUndoTypeOffset;
  *position++ = static_cast<std::byte>(type);
  position = PutVarint(position, index.value());
  for (const Bytes part : payload_parts) {
    position = std::copy(part.begin(), part.end(), position);
  }
  ROWAN_DCHECK(position + 2 - target <= UINT16_MAX);
  ROWAN_DCHECK((static_cast<uint8_t>(type) & kUndoTypeMask) != 0);
  const auto length = static_cast<uint16_t>(position + 2 - target);
  StoreLe<uint16_t>(target, length);
  StoreLe<uint16_t>(position, length);
  return position + 2;
}

bool ParseTxnHeader(const UndoRecordInPage& record, TxnHeader* header) {
  if (record.type != UndoType::kTxnHeader || record.payload.size() != kTxnHeaderPayloadBytes) {
    return false;
  }
  const std::byte* payload = record.payload.data();
  const auto state = static_cast<uint8_t>(payload[6]);
  if (state < 1 || state > 3) return false;
  header->txn = TxnId(LoadLe48(payload));
  header->state = static_cast<UndoTxnState>(state);
  header->csn = Csn(LoadLe<uint64_t>(payload + 7));
  header->xid = LoadUndoPointer(payload + 15);
  return header->txn != kNoTxn;
}

void StoreTxnState(std::byte* target, const TxnHeader& header) {
  ROWAN_DCHECK(header.state >= UndoTxnState::kActive && header.state <= UndoTxnState::kCommitted);
  ROWAN_DCHECK((header.state == UndoTxnState::kCommitted) == (header.csn != Csn(0)));
  ROWAN_DCHECK(header.state != UndoTxnState::kPrepared || !header.xid.IsNone());
  target[0] = static_cast<std::byte>(header.state);
  StoreLe<uint64_t>(target + 1, header.csn.value());
  StoreUndoPointer(target + 9, header.xid);
}

void StoreTxnHeader(std::byte* payload, const TxnHeader& header) {
  ROWAN_DCHECK(header.txn != kNoTxn);
  StoreLe48(payload, header.txn.value());
  StoreTxnState(payload + 6, header);
}

}  // namespace rowan
