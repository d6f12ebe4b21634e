// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/read_ranges.h"

#include <algorithm>
#include <string>
#include <utility>

namespace rowan {
namespace {

/// A range with two keys of usual length, and its share of the allocator's overhead.
constexpr uint64_t kRangeMemoryBytes = sizeof(ReadRange) + 64;

}  // namespace

ReadRanges::IndexReads* ReadRanges::Find(const Shard& shard, IndexId index) {
  for (const std::unique_ptr<IndexReads>& reads : shard.indexes) {
    if (reads->index == index) return reads.get();
  }
  return nullptr;
}

ReadHoldings* ReadRanges::HoldingsOf(const SerialTxn& reader, IndexId index) {
  ReadHoldings* holdings = reader.holdings;
  while (holdings != nullptr && holdings->index != index) holdings = holdings->next;
  return holdings;
}

bool ReadRanges::AnyOfOthers(const SerialTxn& own, IndexId index) const {
  const uint32_t count = CountOf(index).load(std::memory_order_acquire);
  return count > 1 || (count == 1 && HoldingsOf(own, index) == nullptr);
}

ReadHoldings* ReadRanges::MakeHoldings(Shard* shard, SerialTxn* reader, IndexId index,
                                       IndexReads** reads) {
  *reads = Find(*shard, index);
  if (ReadHoldings* known = HoldingsOf(*reader, index); known != nullptr) return known;
  if (*reads == nullptr) {
    *reads = shard->indexes.emplace_back(std::make_unique<IndexReads>(index)).get();
  }
  auto* holdings = new ReadHoldings;
  holdings->reader = reader;
  holdings->index = index;
  holdings->next = std::exchange(reader->holdings, holdings);
  ++(*reads)->readers;
  CountOf(index).fetch_add(1, std::memory_order_release);
  return holdings;
}

bool ReadRanges::Covers(const IndexReads& reads, const SerialTxn& reader, const ReadPiece& piece) {
  bool covered = false;
  reads.ranges.ForEachAt(piece.low, [&](KeyRange* range) {
    const auto* read = static_cast<ReadRange*>(range);
    if (read->holdings->reader != &reader || read->open) return;
    covered = covered || range->unbounded ||
              (!piece.unbounded && CompareBytes(AsBytes(range->high), piece.high) >= 0);
  });
  return covered;
}

OpenRead ReadRanges::AddIn(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold) {
  Shard* shard = ShardOf(index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = nullptr;
  ReadHoldings* holdings = MakeHoldings(shard, reader, index, &reads);
  if (Covers(*reads, *reader, piece)) return {};
  if (fold || holdings->folded || holdings->count >= kRangesMax) {
    FoldInto(reads, holdings, &piece);
    return {};
  }
  return {.holdings = holdings, .range = Make(reads, holdings, piece)};
}

void ReadRanges::Add(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold) {
  AddIn(reader, index, piece, fold);
}

OpenRead ReadRanges::Open(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold) {
  const OpenRead read = AddIn(reader, index, piece, fold);
  // Its thread alone asks.
  if (read.range != nullptr) read.range->open = true;
  return read;
}

ReadRange* ReadRanges::Make(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece) {
  auto* range = new ReadRange;
  range->low = AsText(piece.low);
  range->high = AsText(piece.high);
  range->unbounded = piece.unbounded;
  range->holdings = holdings;
  range->owner_next = holdings->ranges;
  if (holdings->ranges != nullptr) holdings->ranges->owner_previous = range;
  holdings->ranges = range;
  ++holdings->count;
  reads->ranges.Insert(range);
  memory_bytes_.fetch_add(kRangeMemoryBytes, std::memory_order_relaxed);
  return range;
}

void ReadRanges::Drop(IndexReads* reads, ReadHoldings* holdings, KeyRange* range) {
  reads->ranges.Remove(range);
  (range->owner_previous == nullptr ? holdings->ranges : range->owner_previous->owner_next) =
      range->owner_next;
  if (range->owner_next != nullptr) range->owner_next->owner_previous = range->owner_previous;
  --holdings->count;
  memory_bytes_.fetch_sub(kRangeMemoryBytes, std::memory_order_relaxed);
  delete static_cast<ReadRange*>(range);
}

void ReadRanges::Close(const OpenRead& read, const ReadPiece& piece) {
  if (read.holdings == nullptr || read.holdings->folded) return;  // then the range is gone
  ReadRange* range = read.range;
  range->open = false;
  const bool same = range->unbounded == piece.unbounded &&
                    EqualBytes(AsBytes(range->low), piece.low) &&
                    (piece.unbounded || EqualBytes(AsBytes(range->high), piece.high));
  if (same) return;
  Shard* shard = ShardOf(read.holdings->index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = Find(*shard, read.holdings->index);
  reads->ranges.Remove(range);
  range->low = AsText(piece.low);
  range->high = AsText(piece.high);
  range->unbounded = piece.unbounded;
  reads->ranges.Insert(range);
}

void ReadRanges::FoldInto(IndexReads* reads, ReadHoldings* holdings, const ReadPiece* piece) {
  holdings->folded = true;
  KeyRange all;
  bool any = piece != nullptr;
  if (any) {
    all.low = AsText(piece->low);
    all.high = AsText(piece->high);
    all.unbounded = piece->unbounded;
  }
  while (KeyRange* range = holdings->ranges) {
    if (!any || range->low < all.low) all.low = range->low;
    if (!any || EndsSooner(all, *range)) {
      all.high = range->high;
      all.unbounded = range->unbounded;
    }
    any = true;
    Drop(reads, holdings, range);
  }
  if (!any) return;
  Make(reads, holdings,
       {.low = AsBytes(all.low), .high = AsBytes(all.high), .unbounded = all.unbounded});
}

void ReadRanges::Fold(SerialTxn* reader) {
  for (ReadHoldings* holdings = reader->holdings; holdings != nullptr; holdings = holdings->next) {
    if (holdings->folded) continue;
    Shard* shard = ShardOf(holdings->index);
    const ExclusiveLatchGuard guard(&shard->latch);
    FoldInto(Find(*shard, holdings->index), holdings, nullptr);
  }
}

void ReadRanges::Release(SerialTxn* reader) {
  while (ReadHoldings* holdings = reader->holdings) {
    reader->holdings = holdings->next;
    ReleaseIn(ShardOf(holdings->index), holdings);
    delete holdings;
  }
}

void ReadRanges::ReleaseIn(Shard* shard, ReadHoldings* holdings) {
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexReads* reads = Find(*shard, holdings->index);
  while (holdings->ranges != nullptr) Drop(reads, holdings, holdings->ranges);
  CountOf(holdings->index).fetch_sub(1, std::memory_order_release);
  if (--reads->readers > 0) return;
  const auto place = std::find_if(shard->indexes.begin(), shard->indexes.end(),
                                  [&](const auto& known) { return known.get() == reads; });
  *place = std::move(shard->indexes.back());
  shard->indexes.pop_back();
}

bool ReadRanges::Check() const {
  for (const Shard& shard : shards_) {
    const SharedLatchGuard guard(&shard.latch);
    for (const std::unique_ptr<IndexReads>& reads : shard.indexes) {
      if (reads->readers == 0 || !reads->ranges.Check()) return false;
    }
  }
  return true;
}

}  // namespace rowan
