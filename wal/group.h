// SPDX-License-Identifier: GPL-2.0-only
// A group is one mini-transaction in the log: it is redone as a whole or not at all.
//
//   offset size
//   0      4    length of the group in bytes, header included
//   4      4    CRC-32C over start LSN u64 | length u32 | epoch u32 | number of records u32 |
//               CRC-32C of the records u32 | durable mark u64
//   8      4    epoch of the run that wrote it; never decreases along the log
//   12     4    number of records
//   16     8    durable mark: the log was durable up to this LSN when the group was appended
//   24     ...  records
//
// Record: type u8 | space varint | page varint | body length varint | body.
// If its type's version is above 0: (type | 0x80) u8 | version u8 | space varint and so on.
//
// The checksum has two steps: the long one (the records) runs before the group has its place in the
// log, and yet the place is covered: the same bytes at another LSN are not a group. A group without
// records carries only a newer durable mark.
//
// A bad group below the largest durable mark found after it is corruption; at or above it, it is
// the torn tail of the last unsynced write and the log ends there.
#pragma once

#include <cstdint>
#include <memory>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"

namespace rowan {

inline constexpr size_t kGroupHeaderBytes = 24;
/// In a record's type: a version follows.
inline constexpr uint8_t kRecordVersionFlag = 0x80;

/// Record types. Each owner registers its redo functions (wal/redo.h). Numbers are on disk: never
/// reuse one, and stay below kRecordVersionFlag.
enum class RecordType : uint8_t {
  kInvalid = 0,
  // buffer/
  kPageImage = 1,  ///< body: whole page, run-length trimmed; initialises the page
  kPageBytes = 2,  ///< body: offset u16, bytes: overwrite
  // space/
  kSpaceInit = 10,  ///< initialises a space header page
  kSpaceBitmapInit = 11,
  kSpaceSetBits = 12,
  kSpaceClearBits = 13,
  kSpaceDropped = 14,  ///< no page: the space's file may be missing from here on
  kBlobPage = 15,      ///< initialises an off-page value page
  kSpaceHeader = 16,   ///< body: offset u16, bytes, in a space header
  // btree/
  kNodeInit = 30,  ///< initialises an empty node
  kNodeInsert = 31,
  kNodeUpdate = 32,  ///< replaces a value by (prefix kept, suffix kept, middle)
  kNodeRemove = 33,
  kNodeLoad = 34,      ///< initialises a node with a run of entries (right side of a split)
  kNodeTruncate = 35,  ///< drops the entries from a slot on (left side of a split)
  kNodeCompact = 37,   ///< 36 was never written
  kNodeShorten = 38,   ///< cuts the same piece out of the values of some slots
  // mvcc/
  kUndoPageInit = 50,
  kUndoAppend = 51,
  kUndoTruncate = 52,  ///< moves the free offset back (rollback)
  kUndoSetState = 53,  ///< transaction state and CSN in a transaction header record
  kUndoLinks = 54,
  kUndoDirectory = 55,  ///< one slot of the undo directory
  // storage/
  kCarriedBytes = 60,  ///< no page: bytes of a file of others (storage/carried_bytes.h)
};

/// Collects one group. Reusable: Clear keeps the capacity, so a warm builder does not allocate.
class GroupBuilder {
 public:
  GroupBuilder() { Clear(); }
  void Clear();
  /// A group of up to `bytes` bytes, header included, will not allocate.
  void Reserve(size_t bytes) {
    if (bytes + kRecordHeaderBytesMax > capacity_) Grow(bytes + kRecordHeaderBytesMax);
  }
  /// Appends a record and returns where its body (body_size bytes) must be written now; valid
  /// until the next call.
  std::byte* Add(RecordType type, PageId page, size_t body_size, uint8_t version = 0);
  [[nodiscard]] uint32_t record_count() const { return record_count_; }
  [[nodiscard]] size_t size_bytes() const { return size_; }
  [[nodiscard]] bool empty() const { return record_count_ == 0; }
  /// Checksums the records. Log::Append calls it before the group gets its place.
  void Finish();
  /// Fills in the header; called once the group has its place. REQUIRES Finish since the last Add.
  void Seal(Lsn start, uint32_t epoch, Lsn durable_mark);
  [[nodiscard]] Bytes bytes() const { return {bytes_.get(), size_}; }

 private:
  /// Type, version, and the three varints before a record's body.
  static constexpr size_t kRecordHeaderBytesMax = 2 + 3 * kVarintBytesMax;
  void Grow(size_t capacity_min);

  std::unique_ptr<std::byte[]> bytes_;  ///< not a vector, which would fill in zeros first
  size_t size_ = 0;
  size_t capacity_ = 0;
  uint32_t record_count_ = 0;
  uint32_t records_crc_ = 0;
};

struct RecordView {
  RecordType type = RecordType::kInvalid;
  PageId page;
  Bytes body;
  uint8_t version = 0;  ///< of the body's layout, counted separately for each type
};

/// Walks the records of a group whose checksum is correct; checks all bounds nevertheless.
class GroupParser {
 public:
  explicit GroupParser(Bytes group);
  /// False at the end; *status distinguishes a clean end from a malformed group (kCorrupt).
  bool Next(RecordView* record, Status* status);

 private:
  const std::byte* position_;
  const std::byte* end_;
  uint32_t records_left_;
};

/// What a group's header says; only meaningful for a group that CheckGroup found good.
struct GroupHeader {
  uint32_t length = 0;
  uint32_t crc = 0;
  uint32_t epoch = 0;
  uint32_t record_count = 0;
  Lsn durable_mark;
};
/// REQUIRES kGroupHeaderBytes bytes.
GroupHeader LoadGroupHeader(Bytes group);

/// Result of looking at the bytes at an LSN.
enum class GroupCheck { kGood, kBad, kNeedMore };
/// `bytes` may reach beyond the group. kNeedMore: `*length` bytes are needed to tell (a header's
/// size if even that is missing); the caller knows which lengths are impossible.
GroupCheck CheckGroup(Bytes bytes, Lsn start, uint32_t epoch_min, uint32_t* length);

}  // namespace rowan
