// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/read_ranges.h"

#include <algorithm>
#include <new>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "base/assertions.h"
#include "base/full_fence.h"

namespace rowan {
namespace {

/// A range with two keys of usual length, its place among its reader's, and its share of the
/// allocator's overhead.
constexpr uint64_t kRangeMemoryBytes = sizeof(ReadRange) + 128;

ReadPiece PieceOf(const KeyRange& range) {
  return {.low = AsBytes(range.low), .high = AsBytes(range.high), .unbounded = range.unbounded};
}

size_t SharedPrefix(std::string_view one, std::string_view other) {
  const size_t most = std::min(one.size(), other.size());
  size_t shared = 0;
  while (shared < most && one[shared] == other[shared]) ++shared;
  return shared;
}

/// The eight bytes of the key from `from` on, as a number with the same order.
uint64_t NumberAt(std::string_view key, size_t from) {
  uint64_t number = 0;
  for (size_t i = from; i < from + sizeof(number); ++i) {
    number = number << 8 | (i < key.size() ? static_cast<uint8_t>(key[i]) : 0u);
  }
  return number;
}

/// The gap between a range and the one before it.
struct Gap {
  uint64_t width = 0;
  size_t shared_prefix = 0;  ///< among equal distances, a longer shared prefix is nearer
  ReadRange* right = nullptr;

  bool operator<(const Gap& other) const {
    return std::tuple(width, other.shared_prefix) < std::tuple(other.width, shared_prefix);
  }
};

std::vector<Gap> GapsOf(const ReadHoldings& holdings) {
  ROWAN_DCHECK(!holdings.ranges.empty());
  // The prefix shared by all keys tells nothing.
  const size_t common =
      SharedPrefix(holdings.ranges.begin()->first, holdings.ranges.rbegin()->first);
  std::vector<Gap> gaps;
  const ReadRange* left = nullptr;
  for (const auto& [low, range] : holdings.ranges) {
    if (left != nullptr) {
      gaps.push_back({.width = NumberAt(low, common) - NumberAt(left->high, common),
                      .shared_prefix = SharedPrefix(left->high, low),
                      .right = range});
    }
    left = range;
  }
  return gaps;
}

}  // namespace

ReadRanges::IndexReads* ReadRanges::Find(const Shard& shard, IndexId index) {
  const auto found = shard.indexes.find(index.value());
  return found == shard.indexes.end() ? nullptr : found->second.get();
}

bool ReadRanges::AnyOfOthers(const SerialTxn& own, IndexId index) const {
  // After the leaf's latch: one of a reader without a latch, who notes first, and the writer sees
  // the other (VersionCursor::Get).
  FullFence();
  const uint32_t count = CountOf(index).load(std::memory_order_acquire);
  return count > 1 || (count == 1 && !own.holdings.contains(index.value()));
}

ReadHoldings* ReadRanges::MakeHoldings(Shard* shard, SerialTxn* reader, IndexId index,
                                       IndexReads** reads) {
  if (const auto known = reader->holdings.find(index.value()); known != reader->holdings.end()) {
    *reads = Find(*shard, index);
    return known->second;
  }
  // If memory runs out, no partial state remains.
  auto made = std::make_unique<ReadHoldings>();
  made->reader = reader;
  made->index = index;
  auto new_reads = std::make_unique<IndexReads>();
  const auto [held, is_new] = reader->holdings.try_emplace(index.value(), made.get());
  try {
    *reads = shard->indexes.try_emplace(index.value(), std::move(new_reads)).first->second.get();
  } catch (const std::bad_alloc&) {
    reader->holdings.erase(held);
    throw;
  }
  ++(*reads)->readers;
  CountOf(index).fetch_add(1, std::memory_order_release);
  return made.release();
}

bool ReadRanges::Covers(const ReadHoldings& holdings, const ReadPiece& piece) {
  const auto after = holdings.ranges.upper_bound(AsText(piece.low));
  if (after == holdings.ranges.begin()) return false;
  const ReadRange* before = std::prev(after)->second;
  return before->unbounded ||
         (!piece.unbounded && CompareBytes(AsBytes(before->high), piece.high) >= 0);
}

void ReadRanges::Add(SerialTxn* reader, IndexId index, const ReadPiece& piece) {
  Shard* shard = ShardOf(index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = nullptr;
  ReadHoldings* holdings = MakeHoldings(shard, reader, index, &reads);
  AddTo(reads, holdings, piece);
}

OpenRead ReadRanges::Open(SerialTxn* reader, IndexId index, const ReadPiece& piece) {
  Shard* shard = ShardOf(index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = nullptr;
  ReadHoldings* holdings = MakeHoldings(shard, reader, index, &reads);
  if (Covers(*holdings, piece)) return {};
  ReadRange* range = Make(reads, holdings, piece);
  PushRange(&holdings->open, range);
  return {.holdings = holdings, .range = range};
}

void ReadRanges::Resize(const OpenRead& read, const ReadPiece& piece) {
  ROWAN_DCHECK(read.holdings != nullptr && read.range != nullptr);
  ROWAN_DCHECK(read.range->holdings == read.holdings);
  Shard* shard = ShardOf(read.holdings->index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = Find(*shard, read.holdings->index);
  std::string low(AsText(piece.low));
  std::string high(AsText(piece.high));
  reads->ranges.Remove(read.range);
  read.range->low = std::move(low);
  read.range->high = std::move(high);
  read.range->unbounded = piece.unbounded;
  reads->ranges.Insert(read.range);
}

void ReadRanges::Close(const OpenRead& read, const ReadPiece& piece) {
  if (read.holdings == nullptr) return;
  ROWAN_DCHECK(read.range != nullptr && read.range->holdings == read.holdings);
  Shard* shard = ShardOf(read.holdings->index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = Find(*shard, read.holdings->index);
  ROWAN_DCHECK(reads != nullptr);
  AddTo(reads, read.holdings, piece);
  DropOpen(reads, read.holdings, read.range);
}

ReadRange* ReadRanges::Make(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece) {
  ROWAN_DCHECK(piece.unbounded || CompareBytes(piece.low, piece.high) <= 0);
  auto range = std::make_unique<ReadRange>();
  range->low = AsText(piece.low);
  range->high = AsText(piece.high);
  range->unbounded = piece.unbounded;
  range->holdings = holdings;
  reads->ranges.Insert(range.get());
  memory_bytes_.fetch_add(kRangeMemoryBytes, std::memory_order_relaxed);
  return range.release();
}

void ReadRanges::Drop(IndexReads* reads, ReadRange* range) {
  reads->ranges.Remove(range);
  memory_bytes_.fetch_sub(kRangeMemoryBytes, std::memory_order_relaxed);
  delete range;
}

void ReadRanges::AddTo(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece) {
  if (Covers(*holdings, piece)) return;
  auto& ranges = holdings->ranges;
  auto after = ranges.upper_bound(AsText(piece.low));
  ReadRange* range = nullptr;
  if (after != ranges.begin()) {
    ReadRange* before = std::prev(after)->second;
    if (CompareBytes(AsBytes(before->high), piece.low) >= 0) range = before;
  }
  if (range == nullptr) {
    range = Make(reads, holdings, piece);
    try {
      ranges.emplace_hint(after, range->low, range);
    } catch (const std::bad_alloc&) {
      Drop(reads, range);
      throw;
    }
  } else {
    range->high = AsText(piece.high);
    range->unbounded = piece.unbounded;
  }
  // Ranges that it now meets become part of it.
  while (after != ranges.end() &&
         (range->unbounded || CompareBytes(AsBytes(after->second->low), piece.high) <= 0)) {
    ReadRange* met = after->second;
    after = ranges.erase(after);
    if (EndsSooner(*range, *met)) {
      range->high.swap(met->high);
      range->unbounded = met->unbounded;
    }
    Drop(reads, met);
  }
  KeyRangeTree::EndMoved(range);
}

void ReadRanges::DropOpen(IndexReads* reads, ReadHoldings* holdings, ReadRange* range) {
  UnlinkRange(&holdings->open, range);
  Drop(reads, range);
}

void ReadRanges::MergeIn(IndexReads* reads, ReadHoldings* holdings) {
  std::vector<Gap> gaps = GapsOf(*holdings);
  const auto merged = gaps.begin() + static_cast<ptrdiff_t>((gaps.size() + 1) / 2);
  std::nth_element(gaps.begin(), merged - 1, gaps.end());
  for (auto gap = gaps.begin(); gap != merged; ++gap) {
    const auto right = holdings->ranges.find(gap->right->low);
    ReadRange* left = std::prev(right)->second;
    holdings->ranges.erase(right);
    left->high.swap(gap->right->high);
    left->unbounded = gap->right->unbounded;
    Drop(reads, gap->right);
    KeyRangeTree::EndMoved(left);
  }
}

bool ReadRanges::MergeNearest(SerialTxn* reader) {
  bool any = false;
  for (const auto& [index, holdings] : reader->holdings) {
    if (holdings->ranges.size() < 2) continue;
    Shard* shard = ShardOf(holdings->index);
    const ExclusiveLatchGuard guard(&shard->latch);
    MergeIn(Find(*shard, holdings->index), holdings);
    any = true;
  }
  return any;
}

void ReadRanges::MoveTo(SerialTxn* into, SerialTxn* from) {
  for (const auto& [index, holdings] : from->holdings) {
    Shard* shard = ShardOf(holdings->index);
    const ExclusiveLatchGuard guard(&shard->latch);
    IndexReads* reads = nullptr;
    ReadHoldings* target = MakeHoldings(shard, into, holdings->index, &reads);
    for (const auto& [low, range] : holdings->ranges) AddTo(reads, target, PieceOf(*range));
    for (const KeyRange* range = holdings->open; range != nullptr; range = range->owner_next) {
      AddTo(reads, target, PieceOf(*range));
    }
    ReleaseIn(shard, holdings);
  }
  from->holdings.clear();
}

void ReadRanges::Release(SerialTxn* reader) {
  for (const auto& [index, holdings] : reader->holdings) {
    Shard* shard = ShardOf(holdings->index);
    const ExclusiveLatchGuard guard(&shard->latch);
    ReleaseIn(shard, holdings);
  }
  reader->holdings.clear();
}

void ReadRanges::ReleaseIn(Shard* shard, ReadHoldings* holdings) {
  const IndexId index = holdings->index;
  IndexReads* reads = Find(*shard, index);
  ROWAN_DCHECK(reads != nullptr && reads->readers != 0);
  ROWAN_DCHECK(CountOf(index).load(std::memory_order_relaxed) != 0);
  for (const auto& [low, range] : holdings->ranges) Drop(reads, range);
  while (holdings->open != nullptr) {
    DropOpen(reads, holdings, static_cast<ReadRange*>(holdings->open));
  }
  delete holdings;
  CountOf(index).fetch_sub(1, std::memory_order_release);
  if (--reads->readers == 0) shard->indexes.erase(index.value());
}

bool ReadRanges::Check() const {
  for (const Shard& shard : shards_) {
    const SharedLatchGuard guard(&shard.latch);
    for (const auto& [index, reads] : shard.indexes) {
      if (reads->readers == 0 || !reads->ranges.Check()) return false;
    }
  }
  return true;
}

}  // namespace rowan
