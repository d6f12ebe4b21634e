// SPDX-License-Identifier: GPL-2.0-only
// Bytes of the undo space: undo pages, their records, and the directory of streams.
//
// Undo page (PageType::kUndo, version 2), after the common 32-byte page header:
//   offset size
//   32     4    stream number
//   36     4    previous page
//   40     4    next page of the stream, 0 = this is the tail
//   44     2    free offset: end of the records
//   46     2    zero
//   48     6    id of the transaction that goes on here, 0 = none
//   54     6    where its header stands
//   60     4    zero
//   64     8    records of that transaction on earlier pages
//   72     8    transactions that began in this stream on earlier pages
//   80     ..   records, back to back
// Bytes 48 to 79 sum up everything before the page, so neither a start nor purge within a
// transaction has to walk the chain. Version 1 lacks them: its records begin at 48.
// Record, its length counting all of it:
//   offset size
//   0      2    length
//   2      1    type
//   3      v    index id, varint
//   4      ..   payload, if the index id takes one byte; then the length again, 2 bytes
// Bit 7 of the type is set when purge has finished with the record (those that must not run twice),
// bit 6 when it is rolled back but younger ones may not be yet.
// Payload of a kTxnHeader: transaction id 6 | state 1 | CSN 8 | undo pointer of the XID record 6.
//
// Directory page (PageType::kUndoDirectory, version 2):
//   offset size
//   32     4    next directory page, 0 = last
//   36     4    number of its first slot
//   40     8    zero
//   48     16*n slots: head page 4 (0 = no such stream) | start page 4 | start offset 2 |
//               tail page 4 | flags 1 (1 = the start lies inside a transaction) | zero 1
// `start` is the first record not purged, as of the last time pages were freed; the pages from the
// head up to the start page are done. In version 1 tail and flags are zero; a slot keeps that form
// until it is first written.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/page/page_header.h"
#include "mvcc/txn/undo_pointer.h"

namespace rowan {

inline constexpr uint8_t kUndoPageVersion = 2;
inline constexpr uint8_t kUndoPageVersionBare = 1;  ///< without a summary
inline constexpr size_t kUndoStreamOffset = 32;
inline constexpr size_t kUndoPreviousOffset = 36;
inline constexpr size_t kUndoNextOffset = 40;
inline constexpr size_t kUndoFreeOffset = 44;
inline constexpr size_t kUndoSummaryOffset = 48;
inline constexpr size_t kUndoSummaryBytes = 32;
inline constexpr size_t kUndoRecordsOffset = 80;
inline constexpr size_t kUndoRecordsOffsetBare = 48;
static_assert(kUndoStreamOffset == kPageHeaderBytes && kUndoFreeOffset + 4 == kUndoSummaryOffset);
static_assert(kUndoSummaryOffset + kUndoSummaryBytes == kUndoRecordsOffset);

inline constexpr size_t kDirectoryNextOffset = 32;
inline constexpr size_t kDirectoryFirstOffset = 36;
inline constexpr size_t kDirectorySlotsOffset = 48;
inline constexpr size_t kDirectorySlotBytes = 16;
inline constexpr size_t kDirectorySlotUsedBytes = 15;
inline constexpr size_t kDirectorySlotBytesBare = 10;  ///< of version 1
inline constexpr uint8_t kDirectorySlotInside = 1;

/// Numbers are on disk.
enum class UndoType : uint8_t {
  kInvalid = 0,
  kTxnHeader = 1,
  kXid = 2,               ///< written by prepare, see kXidIndexes
  kClusteredInsert = 10,  ///< a new key: rollback removes it
  kClusteredUpdate =
      11,  ///< rollback restores header and row from the delta (also delete marks and
           ///< inserts over a delete-marked row)
  kSecondaryInsert = 12,
  kSecondaryDelete = 13,
  kBlobWrite = 14,  ///< rollback frees the blob
  kBlobDrop = 15,   ///< purge frees the blob
  kExtension = 20,  ///< payload interpreted by engine/ (files and indexes created or dropped)
};

/// Index id of a second record of type kXid, right after the first one, whose payload is what the
/// coordinator gave: ChangedIndexes::Encode of the transaction. Builds that know only the first
/// record skip it wherever they meet it, and rollback removes both.
inline constexpr IndexId kXidIndexes{1};

/// Numbers are on disk.
enum class UndoTxnState : uint8_t { kActive = 1, kPrepared = 2, kCommitted = 3 };

inline constexpr uint8_t kUndoDoneBit = 0x80;
inline constexpr uint8_t kUndoRolledBackBit = 0x40;
inline constexpr uint8_t kUndoTypeMask = 0x3f;
inline constexpr size_t kUndoFixedBytes = 5;  ///< both lengths and the type
inline constexpr size_t kUndoTypeOffset = 2;
/// For a header record, whose index varint is one byte.
inline constexpr size_t kTxnHeaderPayloadOffset = 4;
inline constexpr size_t kTxnHeaderPayloadBytes = 6 + 1 + 8 + kUndoPointerBytes;
inline constexpr size_t kTxnHeaderBytes = kUndoFixedBytes + 1 + kTxnHeaderPayloadBytes;
/// The part of it that changes: state, CSN, XID pointer.
inline constexpr size_t kTxnStateOffset = kTxnHeaderPayloadOffset + 6;
inline constexpr size_t kTxnStateBytes = 1 + 8 + kUndoPointerBytes;
static_assert(kTxnHeaderPayloadBytes == 21 && kTxnHeaderBytes == 27 && kTxnStateBytes == 15);

/// Records end here at most: keeps every offset, also the one after the last record, in 16 bits.
[[nodiscard]] constexpr size_t UndoRecordsEnd(size_t page_size_bytes) {
  return page_size_bytes - 8;
}
[[nodiscard]] inline size_t UndoRecordBytes(IndexId index, size_t payload_bytes) {
  return kUndoFixedBytes + VarintSize(index.value()) + payload_bytes;
}

[[nodiscard]] inline bool HasUndoSummary(const std::byte* page) {
  return PageVersionOf(page) != kUndoPageVersionBare;
}
/// Offset of the page's first record.
[[nodiscard]] inline uint16_t UndoRecordsBegin(const std::byte* page) {
  return HasUndoSummary(page) ? kUndoRecordsOffset : kUndoRecordsOffsetBare;
}
[[nodiscard]] inline uint32_t UndoStreamOf(const std::byte* page) {
  return LoadLe<uint32_t>(page + kUndoStreamOffset);
}
[[nodiscard]] inline PageNumber UndoPreviousOf(const std::byte* page) {
  return PageNumber(LoadLe<uint32_t>(page + kUndoPreviousOffset));
}
[[nodiscard]] inline PageNumber UndoNextOf(const std::byte* page) {
  return PageNumber(LoadLe<uint32_t>(page + kUndoNextOffset));
}
[[nodiscard]] inline uint16_t UndoFreeOf(const std::byte* page) {
  return LoadLe<uint16_t>(page + kUndoFreeOffset);
}
inline void SetUndoFree(std::byte* page, uint16_t offset) {
  StoreLe<uint16_t>(page + kUndoFreeOffset, offset);
}
inline void SetUndoLinks(std::byte* page, PageNumber previous, PageNumber next) {
  StoreLe<uint32_t>(page + kUndoPreviousOffset, previous.value());
  StoreLe<uint32_t>(page + kUndoNextOffset, next.value());
}

/// What comes before a page in its stream.
struct UndoSummary {
  TxnId txn;             ///< continues at the page's first record; kNoTxn = none has a header yet
  UndoPointer header;    ///< of that transaction
  uint64_t records = 0;  ///< of that transaction, XID records not counted
  uint64_t begun = 0;    ///< transactions, that one included

  bool operator==(const UndoSummary&) const = default;
};
/// REQUIRES: HasUndoSummary.
[[nodiscard]] UndoSummary LoadUndoSummary(const std::byte* page);
void StoreUndoSummary(std::byte* target, const UndoSummary& summary);

struct UndoPlace {  ///< of a page in its stream
  uint32_t stream = 0;
  PageNumber previous;
};
void InitUndoPage(MutableBytes page, PageId id, UndoPlace place, const UndoSummary& summary = {});
/// A page of version 1: for logs of older Rowan versions.
void InitBareUndoPage(MutableBytes page, PageId id, UndoPlace place);
void InitUndoDirectoryPage(MutableBytes page, PageId id, PageNumber next, uint32_t first_slot);
/// True if the bytes are an undo page whose free offset is possible.
[[nodiscard]] bool IsUndoPage(Bytes page);
[[nodiscard]] bool IsUndoDirectoryPage(const std::byte* page);

struct DirectorySlot {
  PageNumber head;
  PageNumber start_page;
  uint16_t start_offset = 0;
  PageNumber tail;  ///< kNoPage: written by an older version, to be found
  bool start_is_inside = false;
};
[[nodiscard]] inline uint32_t DirectorySlotsPerPage(size_t page_size_bytes) {
  return static_cast<uint32_t>((page_size_bytes - kDirectorySlotsOffset) / kDirectorySlotBytes);
}
DirectorySlot LoadDirectorySlot(const std::byte* source);
void StoreDirectorySlot(std::byte* target, const DirectorySlot& slot);
/// Writes kDirectorySlotUsedBytes (or kDirectorySlotBytesBare) logged bytes over slot `place` of a
/// directory page. False if there is no such slot or the bytes are malformed.
[[nodiscard]] bool PutDirectorySlot(MutableBytes page, uint32_t place, Bytes slot);

/// First byte of a kUndoPageInit log record, which has kUndoInitBytes and for kStream the summary.
/// Numbers are on disk.
enum class UndoInitKind : uint8_t { kBareStream = 0, kDirectory = 1, kStream = 2 };
inline constexpr size_t kUndoInitBytes = 9;

/// A record in a page (or in a copy of part of one).
struct UndoRecordInPage {
  UndoType type = UndoType::kInvalid;
  bool done = false;         ///< purge has finished with it
  bool rolled_back = false;  ///< by workers that share a rollback
  IndexId index;
  Bytes payload;
  uint16_t length = 0;
};
/// A copy of one record's payload, owned; reused between reads.
struct UndoRecordCopy {
  UndoType type = UndoType::kInvalid;
  bool rolled_back = false;
  IndexId index;
  PageId page;  ///< where it was read from
  std::vector<std::byte> payload;

  void Assign(const UndoRecordInPage& record, PageId from) {
    type = record.type;
    rolled_back = record.rolled_back;
    index = record.index;
    page = from;
    payload.assign(record.payload.begin(), record.payload.end());
  }
};

/// Parses the record at `offset` of bytes that end at `end`. False if it cannot be one.
[[nodiscard]] bool ParseUndoRecord(const std::byte* page, size_t offset, size_t end,
                                   UndoRecordInPage* record);
/// Offset of the record that ends at `end`; 0 if there cannot be one.
[[nodiscard]] size_t UndoRecordBefore(const std::byte* page, size_t end);
/// Writes a record (the caller ensures room) and returns the byte after it.
std::byte* WriteUndoRecord(std::byte* target, UndoType type, IndexId index,
                           std::initializer_list<Bytes> payload_parts);

struct TxnHeader {
  TxnId txn;
  UndoTxnState state = UndoTxnState::kActive;
  Csn csn;
  UndoPointer xid;
};
/// False if the record is no valid header.
[[nodiscard]] bool ParseTxnHeader(const UndoRecordInPage& record, TxnHeader* header);
/// The changing part, kTxnStateBytes long.
void StoreTxnState(std::byte* target, const TxnHeader& header);
void StoreTxnHeader(std::byte* payload, const TxnHeader& header);

}  // namespace rowan
