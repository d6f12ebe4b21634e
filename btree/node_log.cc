// SPDX-License-Identifier: GPL-2.0-only
#include "btree/node_log.h"

#include <algorithm>
#include <cstring>

#include "base/assertions.h"
#include "btree/common_suffix.h"

namespace rowan {
namespace {

MutableBytes BytesOf(MiniTxn* mini_txn, const MutablePage& page) {
  return {page.bytes, mini_txn->pool()->page_size_bytes()};
}

std::byte* Put(std::byte* target, Bytes bytes) {
  if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
  return target + bytes.size();
}

}  // namespace

void LogInitNode(MiniTxn* mini_txn, const MutablePage& page, IndexId index, uint8_t level) {
  ROWAN_DCHECK(level < kLevelsMax);
  std::byte* body = mini_txn->Log(RecordType::kNodeInit, page, 9);
  StoreLe<uint64_t>(body, index.value());
  body[8] = static_cast<std::byte>(level);
  InitNode(BytesOf(mini_txn, page), page.id, index, level);
}

void LogInsertEntry(MiniTxn* mini_txn, const MutablePage& page, size_t slot, Bytes suffix,
                    Bytes value, TxnId stamp) {
  ROWAN_DCHECK(slot <= ViewOf(*mini_txn, page).count());
  ROWAN_DCHECK(NodeHasRoom(ViewOf(*mini_txn, page), suffix.size(), value.size()));
  const size_t size = VarintSize(slot) + VarintSize(stamp.value()) + VarintSize(suffix.size()) +
                      suffix.size() + value.size();
  std::byte* body = mini_txn->Log(RecordType::kNodeInsert, page, size);
  body = PutVarint(body, slot);
  body = PutVarint(body, stamp.value());
  body = PutVarint(body, suffix.size());
  body = Put(body, suffix);
  Put(body, value);
  ROWAN_CHECK(InsertEntry(BytesOf(mini_txn, page), slot, suffix, value, stamp));
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane());
  ROWAN_DCHECK(EqualBytes(ViewOf(*mini_txn, page).Suffix(slot), suffix));
  ROWAN_DCHECK(EqualBytes(ViewOf(*mini_txn, page).Value(slot), value));
}

void LogReplaceValue(MiniTxn* mini_txn, const MutablePage& page, size_t slot, Bytes value,
                     TxnId stamp) {
  ROWAN_DCHECK(slot < ViewOf(*mini_txn, page).count());
  ROWAN_DCHECK(NodeHasRoomToReplace(ViewOf(*mini_txn, page), slot, value.size()));
  const Bytes old = ViewOf(*mini_txn, page).Value(slot);
  const size_t front = CommonPrefix(old, value);
  const size_t behind = CommonSuffix(old, value, std::min(old.size(), value.size()) - front);
  const Bytes middle = value.subspan(front, value.size() - front - behind);
  const size_t size = VarintSize(slot) + VarintSize(stamp.value()) + VarintSize(front) +
                      VarintSize(behind) + middle.size();
  std::byte* body = mini_txn->Log(RecordType::kNodeUpdate, page, size);
  body = PutVarint(body, slot);
  body = PutVarint(body, stamp.value());
  body = PutVarint(body, front);
  body = PutVarint(body, behind);
  Put(body, middle);
  ROWAN_CHECK(ReplaceValue(BytesOf(mini_txn, page), slot, value, stamp));
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane());
  ROWAN_DCHECK(EqualBytes(ViewOf(*mini_txn, page).Value(slot), value));
}

void LogRemoveEntry(MiniTxn* mini_txn, const MutablePage& page, size_t slot) {
  ROWAN_DCHECK(slot < ViewOf(*mini_txn, page).count());
  PutVarint(mini_txn->Log(RecordType::kNodeRemove, page, VarintSize(slot)), slot);
  RemoveEntry(BytesOf(mini_txn, page), slot);
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane());
}

void LogRemoveEntries(MiniTxn* mini_txn, const MutablePage& page, std::span<const uint16_t> slots) {
  ROWAN_DCHECK(std::is_sorted(slots.begin(), slots.end()));
  ROWAN_DCHECK(slots.empty() || slots.back() < ViewOf(*mini_txn, page).count());
  size_t size = VarintSize(slots.size());
  uint16_t previous = 0;
  for (const uint16_t slot : slots) {
    size += VarintSize(static_cast<uint16_t>(slot - previous));
    previous = slot;
  }
  std::byte* body = mini_txn->Log(RecordType::kNodeCompact, page, size);
  body = PutVarint(body, slots.size());
  previous = 0;
  for (const uint16_t slot : slots) {
    body = PutVarint(body, static_cast<uint16_t>(slot - previous));
    previous = slot;
  }
  RemoveEntries(BytesOf(mini_txn, page), slots);
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane());
}

bool LogShortenValues(MiniTxn* mini_txn, const MutablePage& page, std::span<const SlotRun> runs,
                      const ValueCut& cut) {
  if (!ShortenValues(BytesOf(mini_txn, page), runs, cut)) return false;
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane());
  size_t size = 3 + VarintSize(runs.size());
  size_t behind = 0;
  for (const SlotRun& run : runs) {
    size += VarintSize(run.first - behind) + VarintSize(run.count);
    behind = size_t{run.first} + run.count;
  }
  std::byte* body = mini_txn->Log(RecordType::kNodeShorten, page, size);
  body[0] = static_cast<std::byte>(cut.flags);
  body[1] = static_cast<std::byte>(cut.offset);
  body[2] = static_cast<std::byte>(cut.bytes);
  body = PutVarint(body + 3, runs.size());
  behind = 0;
  for (const SlotRun& run : runs) {
    body = PutVarint(body, run.first - behind);
    body = PutVarint(body, run.count);
    behind = size_t{run.first} + run.count;
  }
  return true;
}

void LogLoadNode(MiniTxn* mini_txn, const MutablePage& page, Bytes image) {
  const NodeView node(image);
  ROWAN_DCHECK(node.HeaderIsSane() && PageIdOf(image.data()) == page.id);
  const size_t front =
      node_layout::kSlots - kPageHeaderBytes + node_layout::kSlotBytes * node.count();
  std::byte* body = mini_txn->Log(RecordType::kNodeLoad, page, 8 + 2 + front + node.heap_bytes());
  StoreLe<uint64_t>(body, PageIndexOf(image.data()).value());
  StoreLe<uint16_t>(body + 8, PageFlagsOf(image.data()));
  body = Put(body + 10, image.subspan(kPageHeaderBytes, front));
  Put(body, image.subspan(image.size() - node.heap_bytes()));
  const MutableBytes target = BytesOf(mini_txn, page);
  InitPageHeader(target, page.id, PageType::kTreeNode, kNodeVersion, PageIndexOf(image.data()));
  AssignNode(target, image);
}

void LogReboundNode(MiniTxn* mini_txn, const MutablePage& page, size_t keep,
                    const NodeBounds& bounds) {
  ROWAN_DCHECK(keep <= ViewOf(*mini_txn, page).count());
  ROWAN_DCHECK(bounds.high.size() >= bounds.prefix.size() || bounds.high.empty());
  const bool stored = !bounds.high.empty() && bounds.high.size() <= kHighKeyBytesMax;
  const Bytes fence = stored ? bounds.high : bounds.prefix;
  const uint64_t flags =
      (bounds.rightmost ? kNodeRightmost : 0) | (stored ? kNodeHighKeyStored : 0);
  const size_t size = VarintSize(keep) + VarintSize(bounds.right.value()) + VarintSize(flags) +
                      VarintSize(bounds.prefix.size()) + fence.size();
  std::byte* body = mini_txn->Log(RecordType::kNodeTruncate, page, size);
  body = PutVarint(body, keep);
  body = PutVarint(body, bounds.right.value());
  body = PutVarint(body, flags);
  body = PutVarint(body, bounds.prefix.size());
  Put(body, fence);
  ROWAN_CHECK(ReboundNode(BytesOf(mini_txn, page), keep, bounds));
  ROWAN_DCHECK(ViewOf(*mini_txn, page).HeaderIsSane() && ViewOf(*mini_txn, page).count() == keep);
}

}  // namespace rowan
