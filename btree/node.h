// SPDX-License-Identifier: GPL-2.0-only
// Node: one page of a B-tree, leaf or inner; the layout and read access to it.
//
//   0        32          64              64 + 8*count        heap begin            page size
//   | page   | node      | slots         |                   | records  | fence    |
//   | header | header    | 0 1 2 ...  -> |    free space     | <- grow  | bytes    |
//
// Node header, little-endian, after the 32-byte page header:
//
//   offset size
//   32     2    count: entries (leaf) or separators (inner)
//   34     2    prefix length
//   36     2    high key length; 0 = not stored
//   38     2    heap bytes: from heap begin to the end of the page, fence included
//   40     2    garbage bytes: heap bytes that belong to no record and not to the fence
//   42     2    slot after the last insert, 0 = none      } find insert patterns; redo keeps them
//   44     1    level: 0 = leaf                           } equal because inserts are logged by
//   45     1    insert run, signed: up or down so often   } slot; builds may use them otherwise
//   46     6    newest change: largest id of a transaction that changed the node (leaves)
//   52     4    right link: next leaf, 0 = none (leaves)
//   56     4    first child: the child below separator 0 (inner nodes)
//   60     4    zero
//
// Slot, 8 bytes: record offset u16, suffix length u16, head u32: the first four bytes of the suffix
// as a big-endian number, zero-padded. Record of a leaf: value length u16, suffix, value. Record of
// an inner node: child u32, suffix; the child holds keys >= the separator and < the next one.
//
// Bounds: a node owns the keys lower <= key < high. All of them start with the node's prefix, which
// is stored once; slots hold the rest (the suffix). The fence bytes at the end of the page are the
// whole high key if it has at most kHighKeyBytesMax bytes (the prefix is its beginning), otherwise
// just the prefix. Leaves of one or two entries omit a high key that does not fit. The right-most
// node of a level has no high key and no prefix. Separators and the lower bound are not stored in
// the node: parents know them.
//
// Every accessor clamps what it reads to the page, so damaged bytes give wrong answers, never a
// read outside the page. NodeView is for latched pages; racy reads are in node_search.cc alone.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "base/bytes.h"
#include "base/ids.h"
#include "buffer/page/page_header.h"

namespace rowan {

inline constexpr uint8_t kNodeVersion = 1;

/// Flags in the page header.
enum NodeFlags : uint16_t {
  kNodeRightmost = 1,      ///< no upper bound
  kNodeHighKeyStored = 2,  ///< the fence bytes are the high key
};

namespace node_layout {
inline constexpr size_t kCount = 32;
inline constexpr size_t kPrefixLength = 34;
inline constexpr size_t kHighKeyLength = 36;
inline constexpr size_t kHeapBytes = 38;
inline constexpr size_t kGarbageBytes = 40;
inline constexpr size_t kLastInsert = 42;
inline constexpr size_t kLevel = 44;
inline constexpr size_t kInsertRun = 45;
inline constexpr size_t kNewestChange = 46;
inline constexpr size_t kRight = 52;
inline constexpr size_t kFirstChild = 56;
inline constexpr size_t kReserved = 60;
inline constexpr size_t kSlots = 64;

inline constexpr size_t kSlotBytes = 8;
inline constexpr size_t kSlotSuffixLength = 2;
inline constexpr size_t kSlotHead = 4;
inline constexpr size_t kLeafRecordHeader = 2;
inline constexpr size_t kInnerRecordHeader = 4;

static_assert(kCount == kPageHeaderBytes);
static_assert(kNewestChange + 6 == kRight);
static_assert(kReserved + 4 == kSlots);
static_assert(kSlots == 2 * kPageHeaderBytes);
static_assert(kPageSizeMax - kSlots <= UINT16_MAX, "heap bytes fit 16 bits");
static_assert(kPageSizeMax - 1 <= UINT16_MAX, "record offsets fit 16 bits");
}  // namespace node_layout

/// Longer high keys are not stored: cursors find the bound by descending.
inline constexpr size_t kHighKeyBytesMax = 512;
/// More levels than any tree of 2^32 pages has.
inline constexpr uint8_t kLevelsMax = 40;

/// Largest key: 7840 bytes in 16 KiB pages, which takes a 3072-byte secondary key plus a 3072-byte
/// primary key with their escapes. Two separators, which may be one byte longer, and a stored high
/// key fit an inner node.
[[nodiscard]] constexpr size_t NodeMaxKeyBytes(uint32_t page_size_bytes) {
  return (page_size_bytes - node_layout::kSlots - kHighKeyBytesMax) / 2 - 64;
}
/// Largest entry: two of them, with slots and record headers, fill a page that stores no high key.
[[nodiscard]] constexpr size_t NodeMaxEntryBytes(uint32_t page_size_bytes) {
  return (page_size_bytes - node_layout::kSlots) / 2 - node_layout::kSlotBytes -
         node_layout::kLeafRecordHeader;
}
/// Leaves of so few entries may omit the high key when there is no room for it.
inline constexpr size_t kEntriesBeforeHighKey = 2;
static_assert(NodeMaxKeyBytes(16384) >= 6300);
static_assert(NodeMaxEntryBytes(16384) == 8150);
static_assert(NodeMaxEntryBytes(16384) >= NodeMaxKeyBytes(16384) + 64);
static_assert(NodeMaxEntryBytes(kPageSizeMin) >= NodeMaxKeyBytes(kPageSizeMin) + 64);
static_assert(2 * (NodeMaxKeyBytes(kPageSizeMin) + 1 + node_layout::kSlotBytes +
                   node_layout::kInnerRecordHeader) +
                  kHighKeyBytesMax + node_layout::kSlots <=
              kPageSizeMin);
static_assert(NodeMaxEntryBytes(kPageSizeMax) <= UINT16_MAX);

/// First four bytes of a suffix as a number that compares the same.
[[nodiscard]] inline uint32_t NodeHead(Bytes suffix) {
  if (suffix.size() >= 4) return LoadBe32(suffix.data());
  uint32_t head = 0;
  for (size_t i = 0; i < suffix.size(); ++i) {
    head |= static_cast<uint32_t>(suffix[i]) << (24 - 8 * i);
  }
  return head;
}

/// Length of the longest common prefix.
[[nodiscard]] inline size_t CommonPrefix(Bytes left, Bytes right) {
  const size_t limit = std::min(left.size(), right.size());
  size_t length = 0;
  while (length + 8 <= limit) {
    const uint64_t difference =
        LoadLe<uint64_t>(left.data() + length) ^ LoadLe<uint64_t>(right.data() + length);
    if (difference != 0) return length + static_cast<size_t>(std::countr_zero(difference)) / 8;
    length += 8;
  }
  while (length < limit && left[length] == right[length]) ++length;
  return length;
}

/// Read access to a latched node.
class NodeView {
 public:
  explicit NodeView(Bytes page) : page_(page) {}

  [[nodiscard]] Bytes page() const { return page_; }
  [[nodiscard]] size_t count() const {
    return std::min<size_t>(U16(node_layout::kCount), CountMax());
  }
  [[nodiscard]] size_t CountMax() const {
    return (page_.size() - node_layout::kSlots) / node_layout::kSlotBytes;
  }
  [[nodiscard]] uint8_t level() const { return static_cast<uint8_t>(page_[node_layout::kLevel]); }
  [[nodiscard]] bool is_leaf() const { return level() == 0; }
  [[nodiscard]] bool rightmost() const { return (PageFlagsOf(page_.data()) & kNodeRightmost) != 0; }
  [[nodiscard]] bool has_high_key() const {
    return (PageFlagsOf(page_.data()) & kNodeHighKeyStored) != 0;
  }
  [[nodiscard]] size_t prefix_length() const {
    return std::min<size_t>(U16(node_layout::kPrefixLength), page_.size() - node_layout::kSlots);
  }
  [[nodiscard]] size_t high_key_length() const {
    return std::min<size_t>(U16(node_layout::kHighKeyLength), page_.size() - node_layout::kSlots);
  }
  [[nodiscard]] size_t fence_bytes() const { return std::max(prefix_length(), high_key_length()); }
  [[nodiscard]] Bytes prefix() const {
    return page_.subspan(page_.size() - fence_bytes(), prefix_length());
  }
  /// REQUIRES: has_high_key().
  [[nodiscard]] Bytes high_key() const {
    return page_.subspan(page_.size() - fence_bytes(), high_key_length());
  }
  [[nodiscard]] size_t heap_bytes() const { return U16(node_layout::kHeapBytes); }
  [[nodiscard]] size_t garbage_bytes() const { return U16(node_layout::kGarbageBytes); }
  /// Slot after the last insert; 0: none since the node was made or split.
  [[nodiscard]] uint16_t last_insert_end() const { return U16(node_layout::kLastInsert); }
  /// Roughly how many of the last inserts went up (positive) or down; see InsertRunAfter.
  [[nodiscard]] int8_t insert_run() const {
    return static_cast<int8_t>(page_[node_layout::kInsertRun]);
  }
  [[nodiscard]] TxnId newest_change() const {
    return TxnId(LoadLe48(page_.data() + node_layout::kNewestChange));
  }
  [[nodiscard]] PageNumber right() const { return PageNumber(U32(node_layout::kRight)); }
  [[nodiscard]] PageNumber first_child() const { return PageNumber(U32(node_layout::kFirstChild)); }

  /// The O(1) part of the invariants: sizes that everything else relies on.
  [[nodiscard]] bool HeaderIsSane() const {
    const size_t slots_end =
        node_layout::kSlots + node_layout::kSlotBytes * U16(node_layout::kCount);
    return PageTypeOf(page_.data()) == PageType::kTreeNode && level() < kLevelsMax &&
           slots_end + heap_bytes() <= page_.size() &&
           fence_bytes() + garbage_bytes() <= heap_bytes();
  }
  /// Free bytes between slots and heap. REQUIRES: HeaderIsSane().
  [[nodiscard]] size_t ContiguousFree() const {
    return page_.size() - heap_bytes() - node_layout::kSlots - node_layout::kSlotBytes * count();
  }
  /// Free bytes after compaction.
  [[nodiscard]] size_t TotalFree() const { return ContiguousFree() + garbage_bytes(); }

  [[nodiscard]] size_t RecordHeaderBytes() const {
    return is_leaf() ? node_layout::kLeafRecordHeader : node_layout::kInnerRecordHeader;
  }
  /// Heap bytes plus slot of one entry with these parts.
  [[nodiscard]] size_t EntryBytes(size_t suffix_bytes, size_t value_bytes) const {
    return node_layout::kSlotBytes + suffix_bytes +
           (is_leaf() ? node_layout::kLeafRecordHeader + value_bytes
                      : node_layout::kInnerRecordHeader);
  }
  /// Heap bytes of the record at a slot.
  [[nodiscard]] size_t RecordBytes(size_t slot) const {
    return RecordHeaderBytes() + Suffix(slot).size() + (is_leaf() ? Value(slot).size() : 0);
  }

  [[nodiscard]] size_t Offset(size_t slot) const { return U16(SlotAt(slot)); }
  [[nodiscard]] size_t SuffixLength(size_t slot) const {
    return U16(SlotAt(slot) + node_layout::kSlotSuffixLength);
  }
  [[nodiscard]] uint32_t Head(size_t slot) const {
    return U32(SlotAt(slot) + node_layout::kSlotHead);
  }
  [[nodiscard]] Bytes Suffix(size_t slot) const {
    return Clamp(Offset(slot) + RecordHeaderBytes(), SuffixLength(slot));
  }
  /// Leaf: the value. Inner node: the four bytes of the child number.
  [[nodiscard]] Bytes Value(size_t slot) const {
    const size_t offset = Offset(slot);
    if (!is_leaf()) return Clamp(offset, node_layout::kInnerRecordHeader);
    if (offset + node_layout::kLeafRecordHeader > page_.size()) return {};
    const size_t value_bytes = U16(offset);
    return Clamp(offset + node_layout::kLeafRecordHeader + SuffixLength(slot), value_bytes);
  }
  /// Leaf: suffix and value of an entry, which stand one after the other. Empty if they leave the
  /// page.
  struct Entry {
    Bytes bytes;
    size_t suffix_bytes = 0;
  };
  [[nodiscard]] Entry EntryAt(size_t slot) const {
    const size_t offset = Offset(slot);
    const size_t suffix_bytes = SuffixLength(slot);
    const size_t start = offset + node_layout::kLeafRecordHeader;
    if (start > page_.size()) return {};
    const size_t bytes = suffix_bytes + U16(offset);
    if (bytes > page_.size() - start) return {};
    return {page_.subspan(start, bytes), suffix_bytes};
  }
  [[nodiscard]] size_t KeyLength(size_t slot) const {
    return prefix_length() + Suffix(slot).size();
  }
  /// Writes prefix and suffix to `target`, which has room for KeyLength(slot) bytes.
  size_t CopyKey(size_t slot, std::byte* target) const {
    const Bytes head = prefix();
    const Bytes tail = Suffix(slot);
    if (!head.empty()) std::memcpy(target, head.data(), head.size());
    if (!tail.empty()) std::memcpy(target + head.size(), tail.data(), tail.size());
    return head.size() + tail.size();
  }

  /// Children of an inner node: index 0 is the first child, index i > 0 that of separator i - 1.
  [[nodiscard]] size_t ChildCount() const { return count() + 1; }
  [[nodiscard]] PageNumber Child(size_t index) const {
    if (index == 0) return first_child();
    const Bytes child = Value(index - 1);
    return child.size() == 4 ? PageNumber(LoadLe<uint32_t>(child.data())) : kNoPage;
  }

 private:
  [[nodiscard]] uint16_t U16(size_t offset) const {
    return LoadLe<uint16_t>(page_.data() + offset);
  }
  [[nodiscard]] uint32_t U32(size_t offset) const {
    return LoadLe<uint32_t>(page_.data() + offset);
  }
  /// Offset of a slot; slots that the page cannot have are read as slot 0.
  [[nodiscard]] size_t SlotAt(size_t slot) const {
    return node_layout::kSlots + node_layout::kSlotBytes * (slot < CountMax() ? slot : 0);
  }
  [[nodiscard]] Bytes Clamp(size_t offset, size_t length) const {
    if (offset > page_.size() || length > page_.size() - offset) return {};
    return page_.subspan(offset, length);
  }

  Bytes page_;
};

}  // namespace rowan
