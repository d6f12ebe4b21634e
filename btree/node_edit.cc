// SPDX-License-Identifier: GPL-2.0-only
#include "btree/node_edit.h"

#include <array>
#include <cstring>
#include <memory>

#include "base/assertions.h"
#include "btree/insert_pattern.h"

namespace rowan {
namespace {

using namespace node_layout;  // NOLINT: offsets of the one format this file writes

void SetU16(MutableBytes page, size_t offset, size_t value) {
  StoreLe<uint16_t>(page.data() + offset, static_cast<uint16_t>(value));
}

std::byte* SlotPointer(MutableBytes page, size_t slot) {
  return page.data() + kSlots + kSlotBytes * slot;
}

const std::byte* SlotPointer(Bytes page, size_t slot) {
  return page.data() + kSlots + kSlotBytes * slot;
}

void RaiseNewestChange(MutableBytes page, TxnId stamp) {
  if (stamp > NodeView(page).newest_change()) {
    StoreLe48(page.data() + kNewestChange, stamp.value());
  }
}

/// Takes `size_bytes` from the free space and returns their offset. REQUIRES: they are free.
size_t TakeHeap(MutableBytes page, size_t size_bytes) {
  const size_t heap_bytes = NodeView(page).heap_bytes() + size_bytes;
  SetU16(page, kHeapBytes, heap_bytes);
  return page.size() - heap_bytes;
}

void AddGarbage(MutableBytes page, size_t size_bytes) {
  SetU16(page, kGarbageBytes, NodeView(page).garbage_bytes() + size_bytes);
}

/// Writes record and slot; the heap has room. Suffix and value may be parts of the page: in a
/// damaged one even of the space that is written, which then holds garbage as before.
void PutRecord(MutableBytes page, size_t slot, Bytes suffix, Bytes value) {
  const NodeView node(page);
  const bool leaf = node.is_leaf();
  const size_t offset =
      TakeHeap(page, node.RecordHeaderBytes() + suffix.size() + (leaf ? value.size() : 0));
  std::byte* record = page.data() + offset;
  if (leaf) {
    StoreLe<uint16_t>(record, static_cast<uint16_t>(value.size()));
    if (!suffix.empty()) std::memmove(record + kLeafRecordHeader, suffix.data(), suffix.size());
    if (!value.empty()) {
      std::memmove(record + kLeafRecordHeader + suffix.size(), value.data(), value.size());
    }
  } else {
    std::memmove(record, value.data(), kInnerRecordHeader);
    if (!suffix.empty()) std::memmove(record + kInnerRecordHeader, suffix.data(), suffix.size());
  }
  std::byte* entry = SlotPointer(page, slot);
  StoreLe<uint16_t>(entry, static_cast<uint16_t>(offset));
  StoreLe<uint16_t>(entry + kSlotSuffixLength, static_cast<uint16_t>(suffix.size()));
  StoreLe<uint32_t>(entry + kSlotHead, NodeHead(suffix));
}

void OpenSlot(MutableBytes page, size_t slot) {
  const size_t count = NodeView(page).count();
  std::memmove(SlotPointer(page, slot + 1), SlotPointer(page, slot), (count - slot) * kSlotBytes);
  SetU16(page, kCount, count + 1);
}

void CloseSlot(MutableBytes page, size_t slot) {
  const size_t count = NodeView(page).count();
  std::memmove(SlotPointer(page, slot), SlotPointer(page, slot + 1),
               (count - slot - 1) * kSlotBytes);
  SetU16(page, kCount, count - 1);
}

/// Before the slot is opened.
void TrackInsert(MutableBytes page, size_t slot) {
  page[kInsertRun] = static_cast<std::byte>(InsertRunAfter(NodeView(page), slot));
  SetU16(page, kLastInsert, slot + 1);
}

void KeepInsertPattern(MutableBytes page, MutableBytes image) {
  SetU16(image, kLastInsert, NodeView(page).last_insert_end());
  image[kInsertRun] = page[kInsertRun];
}

NodeBuilder::Shape ShapeOf(const NodeView& node) {
  return {PageIdOf(node.page().data()), PageIndexOf(node.page().data()), node.level(),
          node.first_child(), node.newest_change()};
}

/// As memcpy; most records are so short that the call would cost more than the copy.
inline void CopyRecord(std::byte* target, const std::byte* source, size_t size_bytes) {
  const auto copy_ends = [&](size_t end_bytes) {
    std::memcpy(target, source, end_bytes);
    std::memcpy(target + size_bytes - end_bytes, source + size_bytes - end_bytes, end_bytes);
  };
  if (size_bytes >= 16 && size_bytes <= 32) {
    copy_ends(16);
  } else if (size_bytes >= 8 && size_bytes < 16) {
    copy_ends(8);
  } else if (size_bytes != 0) {
    std::memcpy(target, source, size_bytes);
  }
}

/// Copies a leaf's record without what is cut.
void CopyShortened(std::byte* target, Bytes record, size_t value_offset, const ValueCut& cut) {
  const size_t front = value_offset + cut.offset;
  CopyRecord(target, record.data(), front);
  CopyRecord(target + front, record.data() + front + cut.bytes, record.size() - front - cut.bytes);
  StoreLe<uint16_t>(target, static_cast<uint16_t>(record.size() - value_offset - cut.bytes));
  target[value_offset] &= static_cast<std::byte>(~cut.flags);
}

}  // namespace

NodeBounds BoundsOf(const NodeView& node) {
  NodeBounds bounds;
  if (node.has_high_key()) bounds.high = node.high_key();
  bounds.prefix = node.prefix();
  bounds.rightmost = node.rightmost();
  bounds.right = node.right();
  return bounds;
}

void InitNode(MutableBytes page, PageId id, IndexId index, uint8_t level) {
  InitPageHeader(page, id, PageType::kTreeNode, kNodeVersion, index);
  SetPageFlags(page.data(), kNodeRightmost);
  page[kLevel] = static_cast<std::byte>(level);
}

bool InsertEntry(MutableBytes page, size_t slot, Bytes suffix, Bytes value, TxnId stamp) {
  const NodeView node(page);
  const size_t need = node.EntryBytes(suffix.size(), value.size());
  if (node.ContiguousFree() < need) {
    CompactNode(page);
    if (node.ContiguousFree() < need) return false;
  }
  if (slot > node.count() || (!node.is_leaf() && value.size() != kInnerRecordHeader)) return false;
  TrackInsert(page, slot);
  OpenSlot(page, slot);
  PutRecord(page, slot, suffix, value);
  RaiseNewestChange(page, stamp);
  return true;
}

bool ReplaceValue(MutableBytes page, size_t slot, Bytes value, TxnId stamp) {
  const NodeView node(page);
  const Bytes old = node.Value(slot);
  const Bytes suffix = node.Suffix(slot);
  if (!NodeHasRoomToReplace(node, slot, value.size())) return false;
  if (value.size() <= old.size()) {
    if (!value.empty()) {
      std::memcpy(page.data() + (old.data() - page.data()), value.data(), value.size());
    }
    if (value.size() != old.size()) {
      StoreLe<uint16_t>(page.data() + node.Offset(slot), static_cast<uint16_t>(value.size()));
      AddGarbage(page, old.size() - value.size());
    }
  } else {
    const size_t record_bytes = kLeafRecordHeader + suffix.size() + value.size();
    if (node.ContiguousFree() >= record_bytes) {
      AddGarbage(page, node.RecordBytes(slot));
      PutRecord(page, slot, suffix, value);
    } else {
      // The old record must go before the new one fits: keep its suffix aside.
      MutableBytes kept = NodeScratch(Scratch::kSuffix, page.size()).subspan(0, suffix.size());
      if (!suffix.empty()) std::memcpy(kept.data(), suffix.data(), suffix.size());
      AddGarbage(page, node.RecordBytes(slot));
      CloseSlot(page, slot);
      CompactNode(page);
      if (node.ContiguousFree() < record_bytes + kSlotBytes) return false;
      OpenSlot(page, slot);
      PutRecord(page, slot, kept, value);
    }
  }
  RaiseNewestChange(page, stamp);
  return true;
}

void RemoveEntry(MutableBytes page, size_t slot) {
  const NodeView node(page);
  AddGarbage(page, node.RecordBytes(slot));
  CloseSlot(page, slot);
  if (slot < node.last_insert_end()) SetU16(page, kLastInsert, node.last_insert_end() - 1u);
}

void RemoveEntries(MutableBytes page, std::span<const uint16_t> slots) {
  for (size_t i = slots.size(); i-- > 0;) {
    if (slots[i] < NodeView(page).count()) RemoveEntry(page, slots[i]);
  }
  CompactNode(page);
}

bool ShortenValues(MutableBytes page, std::span<const SlotRun> runs, const ValueCut& cut) {
  const NodeView node(page);
  MutableBytes image = NodeScratch(Scratch::kImage, page.size());
  NodeBuilder builder(image, ShapeOf(node), BoundsOf(node));
  size_t behind = 0;
  for (const SlotRun& run : runs) {
    const size_t end = size_t{run.first} + run.count;
    if (run.first < behind || end > node.count()) return false;
    if (!builder.AppendFrom(node, behind, run.first)) return false;
    if (!builder.AppendShortened(node, run.first, end, cut)) return false;
    behind = end;
  }
  if (!builder.AppendFrom(node, behind, node.count())) return false;
  KeepInsertPattern(page, image);
  AssignNode(page, image);
  return true;
}

void CompactNode(MutableBytes page) {
  const NodeView node(page);
  MutableBytes image = NodeScratch(Scratch::kImage, page.size());
  NodeBuilder builder(image, ShapeOf(node), BoundsOf(node));
  if (!builder.AppendFrom(node, 0, node.count())) return;  // damaged: stays as it is
  KeepInsertPattern(page, image);
  AssignNode(page, image);
}

bool ReboundNode(MutableBytes page, size_t keep, const NodeBounds& bounds) {
  const NodeView node(page);
  MutableBytes image = NodeScratch(Scratch::kImage, page.size());
  if (keep > node.count()) return false;
  if (std::max(bounds.high.size(), bounds.prefix.size()) > page.size() / 2) return false;
  NodeBuilder builder(image, ShapeOf(node), bounds);
  if (!builder.AppendFrom(node, 0, keep)) return false;
  if (node.last_insert_end() <= keep) KeepInsertPattern(page, image);
  AssignNode(page, image);
  return true;
}

NodeBuilder::NodeBuilder(MutableBytes target, const Shape& shape, const NodeBounds& bounds)
    : page_(target), prefix_bytes_(bounds.prefix.size()) {
  InitNode(page_, shape.id, shape.index, shape.level);
  const bool store_high = !bounds.rightmost && !bounds.high.empty() &&
                          bounds.high.size() <= kHighKeyBytesMax &&
                          bounds.high.size() >= prefix_bytes_;
  const Bytes fence = store_high ? bounds.high : bounds.prefix;
  ROWAN_CHECK(fence.size() < page_.size() - kSlots);
  ROWAN_DCHECK(bounds.right == kNoPage || shape.level == 0);
  ROWAN_DCHECK(shape.level < kLevelsMax);
  SetPageFlags(page_.data(), static_cast<uint16_t>((bounds.rightmost ? kNodeRightmost : 0) |
                                                   (store_high ? kNodeHighKeyStored : 0)));
  SetU16(page_, kPrefixLength, prefix_bytes_);
  SetU16(page_, kHighKeyLength, store_high ? fence.size() : 0);
  const size_t offset = TakeHeap(page_, fence.size());
  if (!fence.empty()) std::memcpy(page_.data() + offset, fence.data(), fence.size());
  StoreLe48(page_.data() + kNewestChange, shape.newest_change.value());
  StoreLe<uint32_t>(page_.data() + kRight, bounds.right.value());
  StoreLe<uint32_t>(page_.data() + kFirstChild, shape.first_child.value());
}

bool NodeBuilder::Append(Bytes key_head, Bytes key_tail, Bytes value) {
  const NodeView node(page_);
  if (key_head.size() + key_tail.size() < prefix_bytes_) return false;
  // Suffix = the key without our prefix; it may begin in either part.
  const Bytes head = key_head.subspan(std::min(prefix_bytes_, key_head.size()));
  const Bytes tail = key_tail.subspan(prefix_bytes_ - std::min(prefix_bytes_, key_head.size()));
  const size_t suffix_bytes = head.size() + tail.size();
  if (node.ContiguousFree() < node.EntryBytes(suffix_bytes, value.size())) return false;
  if (!node.is_leaf() && value.size() != kInnerRecordHeader) return false;
  const size_t slot = node.count();
  SetU16(page_, kCount, slot + 1);
  if (head.empty()) {
    PutRecord(page_, slot, tail, value);
    return true;
  }
  MutableBytes joined = NodeScratch(Scratch::kJoin, page_.size()).subspan(0, suffix_bytes);
  std::memcpy(joined.data(), head.data(), head.size());
  if (!tail.empty()) std::memcpy(joined.data() + head.size(), tail.data(), tail.size());
  PutRecord(page_, slot, joined, value);
  return true;
}

bool NodeBuilder::AppendFrom(const NodeView& source, size_t first, size_t last) {
  const bool copied =
      source.prefix_length() == prefix_bytes_ && CopyFrom(source, first, last, nullptr);
  if (copied) return true;
  // Or records are damaged: they are copied as the accessors show them.
  const Bytes prefix = source.prefix();
  for (size_t slot = first; slot < last; ++slot) {
    if (!Append(prefix, source.Suffix(slot), source.Value(slot))) return false;
  }
  return true;
}

bool NodeBuilder::AppendShortened(const NodeView& source, size_t first, size_t last,
                                  const ValueCut& cut) {
  return source.prefix_length() == prefix_bytes_ && CopyFrom(source, first, last, &cut);
}

/// For a source with our prefix: its records and slots can be copied, except for their offsets.
bool NodeBuilder::CopyFrom(const NodeView& source, size_t first, size_t last, const ValueCut* cut) {
  const Bytes page = source.page();
  const bool leaf = source.is_leaf();
  const size_t header_bytes = source.RecordHeaderBytes();
  const size_t lost_bytes = cut == nullptr ? 0 : cut->bytes;
  size_t count = NodeView(page_).count();
  size_t heap_bytes = NodeView(page_).heap_bytes();
  for (size_t slot = first; slot < last; ++slot) {
    const std::byte* const from = SlotPointer(page, slot);
    const size_t offset = LoadLe<uint16_t>(from);
    const size_t value_offset = header_bytes + LoadLe<uint16_t>(from + kSlotSuffixLength);
    if (offset + value_offset > page.size()) return false;
    const size_t value_bytes = leaf ? LoadLe<uint16_t>(page.data() + offset) : 0;
    const size_t record_bytes = value_offset + value_bytes;
    if (offset + record_bytes > page.size()) return false;
    if (cut != nullptr && value_bytes < lost_bytes + cut->offset) return false;
    heap_bytes += record_bytes - lost_bytes;
    if (kSlots + kSlotBytes * (count + 1) + heap_bytes > page_.size()) return false;
    const size_t target = page_.size() - heap_bytes;
    if (cut == nullptr) {
      CopyRecord(page_.data() + target, page.data() + offset, record_bytes);
    } else {
      CopyShortened(page_.data() + target, page.subspan(offset, record_bytes), value_offset, *cut);
    }
    std::byte* const to = SlotPointer(page_, count++);
    std::memcpy(to, from, kSlotBytes);
    StoreLe<uint16_t>(to, static_cast<uint16_t>(target));
  }
  SetU16(page_, kCount, count);
  SetU16(page_, kHeapBytes, heap_bytes);
  return true;
}

namespace {

constexpr size_t kScratchPages = static_cast<size_t>(Scratch::kCount);
// initial-exec, as in counters.cc.
thread_local constinit std::byte* t_scratch __attribute__((tls_model("initial-exec"))) = nullptr;

}  // namespace

void ReserveNodeScratch() {
  if (t_scratch != nullptr) [[likely]]
    return;
  static thread_local std::unique_ptr<std::byte[]> owner;
  owner = std::make_unique_for_overwrite<std::byte[]>(kScratchPages * kPageSizeMax);
  t_scratch = owner.get();
}

MutableBytes NodeScratch(Scratch which, size_t page_size_bytes) {
  ROWAN_CHECK(which < Scratch::kCount && page_size_bytes <= kPageSizeMax);
  ReserveNodeScratch();
  return {t_scratch + static_cast<size_t>(which) * kPageSizeMax, page_size_bytes};
}

void AssignNode(MutableBytes page, Bytes image) {
  SetPageFlags(page.data(), PageFlagsOf(image.data()));
  std::memcpy(page.data() + kPageHeaderBytes, image.data() + kPageHeaderBytes,
              page.size() - kPageHeaderBytes);
}

}  // namespace rowan
