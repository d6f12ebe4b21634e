// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/lock/folded_locks.h"

#include <algorithm>
#include <utility>

#include "base/assertions.h"

namespace rowan {
namespace {

/// A range with two keys of usual length, and its share of the allocator's overhead.
constexpr uint64_t kKeyRangeMemoryBytes = sizeof(KeyRange) + 64;
/// Per shard, indexes kept though nothing may be locked in them any more.
constexpr size_t kIndexesKept = 4;

bool Touches(const KeyRange& range, const RangePiece& piece) {
  if (!piece.unbounded && CompareBytes(AsBytes(range.low), piece.high) > 0) return false;
  return range.unbounded || CompareBytes(AsBytes(range.high), piece.low) >= 0;
}

template <typename Element>
void Forget(std::vector<Element>* elements, Element element) {
  const auto place = std::find(elements->begin(), elements->end(), element);
  if (place == elements->end()) return;
  *place = elements->back();
  elements->pop_back();
}

}  // namespace

FoldedLocks::~FoldedLocks() {
  // The rest belongs to transactions that are never ended, such as prepared ones at a shutdown.
  for (const Shard& shard : shards_) {
    for (const std::unique_ptr<IndexLocks>& locks : shard.indexes) {
      for (const FoldedHoldings* holdings : locks->holdings) {
        for (KeyRange* range = holdings->ranges; range != nullptr;) {
          delete std::exchange(range, range->owner_next);
        }
        delete holdings;
      }
    }
  }
}

FoldedLocks::IndexLocks* FoldedLocks::Find(const Shard& shard, IndexId index) {
  for (const std::unique_ptr<IndexLocks>& locks : shard.indexes) {
    if (locks->index == index) return locks.get();
  }
  return nullptr;
}

FoldedHoldings* FoldedLocks::HoldingsOf(const Txn* txn, IndexId index) {
  FoldedHoldings* holdings = txn->locks.folded;
  while (holdings != nullptr && holdings->index != index) holdings = holdings->next;
  return holdings;
}

FoldedHoldings* FoldedLocks::MakeHoldings(Shard* shard, Txn* txn, IndexId index,
                                          IndexLocks** locks) {
  *locks = Find(*shard, index);
  ROWAN_DCHECK(HoldingsOf(txn, index) == nullptr || *locks != nullptr);
  if (FoldedHoldings* known = HoldingsOf(txn, index); known != nullptr) return known;
  if (*locks == nullptr) {
    *locks = shard->indexes.emplace_back(std::make_unique<IndexLocks>(index)).get();
  }
  auto* holdings = new FoldedHoldings;
  holdings->owner = txn;
  holdings->index = index;
  holdings->next = std::exchange(txn->locks.folded, holdings);
  (*locks)->holdings.push_back(holdings);
  CountOf(index).fetch_add(1, std::memory_order_release);
  return holdings;
}

// --- ranges ---

bool FoldedLocks::Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece,
                        bool may_add) {
  Shard* shard = ShardOf(index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexLocks* locks = nullptr;
  FoldedHoldings* holdings = MakeHoldings(shard, txn, index, &locks);
  KeyRange* range = RangeToGrow(locks, holdings, mode, piece);
  if (range == nullptr) {
    if (may_add) MakeRange(locks, holdings, mode, piece);
    return may_add;
  }
  holdings->newest[static_cast<size_t>(mode)] = range;
  if (Grow(locks, range, piece) && holdings->range_count > 1) Join(locks, holdings, range);
  return true;
}

KeyRange* FoldedLocks::RangeToGrow(IndexLocks* locks, FoldedHoldings* holdings, LockMode mode,
                                   const RangePiece& piece) const {
  KeyRange* newest = holdings->newest[static_cast<size_t>(mode)];
  if (newest != nullptr && Touches(*newest, piece)) return newest;
  if (holdings->range_count == 0) return nullptr;
  KeyRange* known = nullptr;
  locks->ranges.ForEachMeeting(piece.low, piece.unbounded ? nullptr : &piece.high,
                               [&](KeyRange* range) {
                                 if (range->owner == holdings->owner && range->mode == mode) {
                                   known = range;
                                 }
                               });
  return known;
}

void FoldedLocks::MakeRange(IndexLocks* locks, FoldedHoldings* holdings, LockMode mode,
                            const RangePiece& piece) {
  ROWAN_DCHECK(piece.unbounded || CompareBytes(piece.low, piece.high) <= 0);
  auto* range = new KeyRange;
  range->low = AsText(piece.low);
  range->high = AsText(piece.high);
  range->unbounded = piece.unbounded;
  range->first_is_gap = piece.gap_edge == GapEdge::kFirst;
  range->last_is_gap = piece.gap_edge == GapEdge::kLast;
  range->mode = mode;
  range->owner = holdings->owner;
  PushRange(&holdings->ranges, range);
  ++holdings->range_count;
  holdings->newest[static_cast<size_t>(mode)] = range;
  locks->ranges.Insert(range);
  memory_bytes_.fetch_add(kKeyRangeMemoryBytes, std::memory_order_relaxed);
}

/// True if an end moved. REQUIRES: they touch.
bool FoldedLocks::Grow(IndexLocks* locks, KeyRange* range, const RangePiece& piece) {
  ROWAN_DCHECK(Touches(*range, piece));
  bool moved = false;
  const int end = range->unbounded  ? 1
                  : piece.unbounded ? -1
                                    : CompareBytes(AsBytes(range->high), piece.high);
  if (end < 0) {
    range->high = AsText(piece.high);
    range->unbounded = piece.unbounded;
    range->last_is_gap = piece.gap_edge == GapEdge::kLast;
    KeyRangeTree::EndMoved(range);
    moved = true;
  } else if (end == 0 && piece.gap_edge != GapEdge::kLast) {
    range->last_is_gap = false;
  }
  const int start = CompareBytes(piece.low, AsBytes(range->low));
  if (start < 0) {
    const bool alone = locks->ranges.size() == 1;
    if (!alone) locks->ranges.Remove(range);
    range->low = AsText(piece.low);
    range->first_is_gap = piece.gap_edge == GapEdge::kFirst;
    if (!alone) locks->ranges.Insert(range);
    moved = true;
  } else if (start == 0 && piece.gap_edge != GapEdge::kFirst) {
    range->first_is_gap = false;
  }
  return moved;
}

void FoldedLocks::Join(IndexLocks* locks, FoldedHoldings* holdings, KeyRange* range) {
  for (;;) {
    KeyRange* other = nullptr;
    const Bytes high = AsBytes(range->high);
    locks->ranges.ForEachMeeting(
        AsBytes(range->low), range->unbounded ? nullptr : &high, [&](KeyRange* met) {
          if (met != range && met->owner == range->owner && met->mode == range->mode) {
            other = met;
          }
        });
    if (other == nullptr) return;
    const RangePiece piece{.low = AsBytes(other->low),
                           .high = AsBytes(other->high),
                           .unbounded = other->unbounded,
                           .gap_edge = other->last_is_gap    ? GapEdge::kLast
                                       : other->first_is_gap ? GapEdge::kFirst
                                                             : GapEdge::kNone};
    ROWAN_DCHECK(other->owner == range->owner && other->mode == range->mode);
    Grow(locks, range, piece);
    DropRange(locks, holdings, other);
  }
}

void FoldedLocks::DropRange(IndexLocks* locks, FoldedHoldings* holdings, KeyRange* range) {
  ROWAN_DCHECK(holdings->range_count != 0 && range->owner == holdings->owner);
  locks->ranges.Remove(range);
  UnlinkRange(&holdings->ranges, range);
  KeyRange*& newest = holdings->newest[static_cast<size_t>(range->mode)];
  if (newest == range) newest = nullptr;
  --holdings->range_count;
  memory_bytes_.fetch_sub(kKeyRangeMemoryBytes, std::memory_order_relaxed);
  delete range;
}

// --- records ---

void FoldedLocks::AddRecord(Txn* txn, LockKey key, LockMode mode) {
  Shard* shard = ShardOf(key.index);
  const ExclusiveLatchGuard guard(&shard->latch);
  IndexLocks* locks = nullptr;
  FoldedHoldings* holdings = MakeHoldings(shard, txn, key.index, &locks);
  std::unique_ptr<RecordLockSet>& records = holdings->records[static_cast<size_t>(mode)];
  uint64_t before = 0;
  if (records == nullptr) {
    records = std::make_unique<RecordLockSet>();
    std::vector<FoldedHoldings*>& with_records = locks->with_records;
    if (std::find(with_records.begin(), with_records.end(), holdings) == with_records.end()) {
      with_records.push_back(holdings);
    }
  } else {
    before = records->memory_bytes();
  }
  records->Add(key.key_hash);
  if (records->memory_bytes() != before) {
    memory_bytes_.fetch_add(records->memory_bytes() - before, std::memory_order_relaxed);
  }
}

// --- the end ---

void FoldedLocks::Release(Txn* txn) {
  while (FoldedHoldings* holdings = txn->locks.folded) {
    ROWAN_DCHECK(holdings->owner == txn);
    txn->locks.folded = holdings->next;
    ReleaseIn(ShardOf(holdings->index), holdings);
    delete holdings;
  }
}

void FoldedLocks::ReleaseIn(Shard* shard, FoldedHoldings* holdings) {
  // Few enough at a time that no check of an insert waits long.
  constexpr size_t kRangesPerHold = 64;
  for (bool done = false; !done;) {
    const ExclusiveLatchGuard guard(&shard->latch);
    IndexLocks* locks = Find(*shard, holdings->index);
    ROWAN_DCHECK(locks != nullptr);
    for (size_t i = 0; i < kRangesPerHold && holdings->ranges != nullptr; ++i) {
      DropRange(locks, holdings, holdings->ranges);
    }
    done = holdings->ranges == nullptr;
    if (!done) continue;
    Forget(&locks->holdings, holdings);
    if (!locks->with_records.empty()) Forget(&locks->with_records, holdings);
    ROWAN_DCHECK(CountOf(holdings->index).load(std::memory_order_relaxed) != 0);
    ROWAN_DCHECK(holdings->range_count == 0);
    CountOf(holdings->index).fetch_sub(1, std::memory_order_release);
    // Where one transaction locked something, the next one soon does: keep a few without holdings.
    if (!locks->holdings.empty() || shard->indexes.size() <= kIndexesKept) continue;
    const auto place = std::find_if(shard->indexes.begin(), shard->indexes.end(),
                                    [&](const auto& known) { return known.get() == locks; });
    *place = std::move(shard->indexes.back());
    shard->indexes.pop_back();
  }
  for (const std::unique_ptr<RecordLockSet>& records : holdings->records) {
    if (records == nullptr) continue;
    memory_bytes_.fetch_sub(records->memory_bytes(), std::memory_order_relaxed);
  }
}

// --- reports ---

void FoldedLocks::Describe(size_t count_max, std::vector<LockInfo>* infos) const {
  for (const Shard& shard : shards_) {
    const SharedLatchGuard guard(&shard.latch);
    for (const std::unique_ptr<IndexLocks>& locks : shard.indexes) {
      locks->ranges.ForEachMeeting({}, nullptr, [&](const KeyRange* range) {
        if (infos->size() >= count_max) return;
        infos->push_back({.owner = range->owner->txn_id(),
                          .thread = range->owner->thread.load(std::memory_order_relaxed),
                          .index = locks->index,
                          .key = range->low,
                          .range_end = range->unbounded ? std::string() : range->high,
                          .mode = range->mode,
                          .kind = LockKind::kNextKey,
                          .granted = true});
      });
    }
  }
}

bool FoldedLocks::Check() const {
  for (const Shard& shard : shards_) {
    const SharedLatchGuard guard(&shard.latch);
    for (const std::unique_ptr<IndexLocks>& locks : shard.indexes) {
      size_t ranges = 0;
      for (const FoldedHoldings* holdings : locks->holdings) ranges += holdings->range_count;
      if (ranges != locks->ranges.size() || !locks->ranges.Check()) return false;
    }
  }
  return true;
}

}  // namespace rowan
