// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/undo_page.h"

#include <algorithm>
#include <array>

namespace rowan {

void InitUndoPage(MutableBytes page, PageId id, uint32_t stream, PageNumber previous) {
  InitPageHeader(page, id, PageType::kUndo, kUndoPageVersion, IndexId(0));
  StoreLe<uint32_t>(page.data() + kUndoStreamOffset, stream);
  SetUndoLinks(page.data(), previous, kNoPage);
  SetUndoFree(page.data(), kUndoRecordsOffset);
}

void InitUndoDirectoryPage(MutableBytes page, PageId id, PageNumber next, uint32_t first_slot) {
  InitPageHeader(page, id, PageType::kUndoDirectory, kUndoPageVersion, IndexId(0));
  StoreLe<uint32_t>(page.data() + kDirectoryNextOffset, next.value());
  StoreLe<uint32_t>(page.data() + kDirectoryFirstOffset, first_slot);
}

bool IsUndoPage(Bytes page) {
  if (PageTypeOf(page.data()) != PageType::kUndo) return false;
  if (PageVersionOf(page.data()) != kUndoPageVersion) return false;
  const size_t free = UndoFreeOf(page.data());
  return free >= kUndoRecordsOffset && free <= UndoRecordsEnd(page.size());
}

bool IsUndoDirectoryPage(const std::byte* page) {
  return PageTypeOf(page) == PageType::kUndoDirectory && PageVersionOf(page) == kUndoPageVersion;
}

DirectorySlot LoadDirectorySlot(const std::byte* source) {
  return {PageNumber(LoadLe<uint32_t>(source)), PageNumber(LoadLe<uint32_t>(source + 4)),
          LoadLe<uint16_t>(source + 8)};
}

void StoreDirectorySlot(std::byte* target, const DirectorySlot& slot) {
  StoreLe<uint32_t>(target, slot.head.value());
  StoreLe<uint32_t>(target + 4, slot.start_page.value());
  StoreLe<uint16_t>(target + 8, slot.start_offset);
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
  if (payload == nullptr || (type & ~kUndoDoneBit) == 0) return false;
  record->type = static_cast<UndoType>(type & ~kUndoDoneBit);
  record->done = (type & kUndoDoneBit) != 0;
  record->index = IndexId(index);
  record->payload = {payload, static_cast<size_t>(behind - payload)};
  record->length = static_cast<uint16_t>(length);
  return true;
}

size_t UndoRecordBefore(const std::byte* page, size_t end) {
  if (end < kUndoRecordsOffset + kUndoFixedBytes) return 0;
  const size_t length = LoadLe<uint16_t>(page + end - 2);
  return length > kUndoFixedBytes && length <= end - kUndoRecordsOffset ? end - length : 0;
}

std::byte* WriteUndoRecord(std::byte* target, UndoType type, IndexId index,
                           std::initializer_list<Bytes> payload_parts) {
  std::byte* position = target + kUndoTypeOffset;
  *position++ = static_cast<std::byte>(type);
  position = PutVarint(position, index.value());
  for (const Bytes part : payload_parts) {
    position = std::copy(part.begin(), part.end(), position);
  }
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
  target[0] = static_cast<std::byte>(header.state);
  StoreLe<uint64_t>(target + 1, header.csn.value());
  StoreUndoPointer(target + 9, header.xid);
}

void StoreTxnHeader(std::byte* payload, const TxnHeader& header) {
  StoreLe48(payload, header.txn.value());
  StoreTxnState(payload + 6, header);
}

}  // namespace rowan
