// SPDX-License-Identifier: GPL-2.0-only
// FoldedLocks: what transactions have locked without an entry in the lock table for each record:
// the key ranges that scans covered (records and the gaps between them), and sets of record locks
// that have grown large. Like the transaction id in a row's header, a folded lock by itself makes
// no transaction wait: one that meets it turns the part in its way into an entry of the lock table,
// owned by the holder, and queues there. Ranges are made of keys and not of entries, so nothing
// moves when entries come and go, and when pages are split or merged.
//
// Order: bucket latch of the lock table -> this -> request pool. Thread safety: all members; only
// the thread that runs a transaction changes its locks.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <vector>

#include "base/latch.h"
#include "mvcc/lock/key_range_tree.h"
#include "mvcc/lock/lock_info.h"
#include "mvcc/lock/lock_key.h"
#include "mvcc/lock/lock_mode.h"
#include "mvcc/lock/record_lock_set.h"
#include "mvcc/txn/txn.h"

namespace rowan {

/// What one transaction has folded in one index.
struct FoldedHoldings {
  Txn* owner = nullptr;
  IndexId index;
  KeyRange* ranges = nullptr;  ///< list through owner_next
  size_t range_count = 0;
  std::array<KeyRange*, 2> newest{};  ///< by mode: the range that grew or was made last
  std::array<std::unique_ptr<RecordLockSet>, 2> records;  ///< by mode
  FoldedHoldings* next = nullptr;                         ///< the owner's, in other indexes
};

class FoldedLocks {
 public:
  FoldedLocks() = default;
  ~FoldedLocks();
  FoldedLocks(const FoldedLocks&) = delete;
  FoldedLocks& operator=(const FoldedLocks&) = delete;

  /// False: nothing that concerns the caller is folded in this index. A folded lock is visible to
  /// all that take the latch under which it was folded (leaf, bucket) afterwards.
  [[nodiscard]] bool AnyIn(IndexId index) const {
    return CountOf(index).load(std::memory_order_acquire) != 0;
  }
  /// As AnyIn, by another transaction than `txn`. The caller is its thread.
  [[nodiscard]] bool AnyOfOthers(const Txn* txn, IndexId index) const {
    const uint32_t count = CountOf(index).load(std::memory_order_acquire);
    return count > 1 || (count == 1 && HoldingsOf(txn, index) == nullptr);
  }

  /// What the asking transaction itself holds of a record.
  struct Own {
    bool covers = false;  ///< all that is asked for
    bool weaker = false;  ///< shared, and exclusive is asked for
  };
  /// Calls found(Txn* holder, LockMode, LockKind) under the latch for everything of others that
  /// conflicts with a record lock or an insert intention; may repeat itself.
  template <typename Found>
  Own LookAt(const Txn* txn, const LockTarget& target, LockMode mode, LockKind kind,
             Found found) const;
  /// Locks the piece, records and gaps; joins it with the transaction's ranges that it touches.
  /// False: that would take one more range, and `may_add` is false.
  bool Cover(Txn* txn, IndexId index, LockMode mode, const RangePiece& piece, bool may_add);
  void AddRecord(Txn* txn, LockKey key, LockMode mode);
  /// Everything the transaction has folded; afterwards none of it is found here.
  void Release(Txn* txn);

  [[nodiscard]] uint64_t memory_bytes() const {
    return memory_bytes_.load(std::memory_order_relaxed);
  }
  /// Appends the ranges, up to `count_max` elements in all.
  void Describe(size_t count_max, std::vector<LockInfo>* infos) const;
  /// For tests.
  [[nodiscard]] bool Check() const;

 private:
  struct IndexLocks {
    explicit IndexLocks(IndexId id) : index(id) {}
    const IndexId index;
    KeyRangeTree ranges;
    std::vector<FoldedHoldings*> holdings;
    std::vector<FoldedHoldings*> with_records;  ///< of these, those with a set of records
  };
  struct alignas(64) Shard {
    mutable RankedLatch<LatchRank::kFoldedLocks> latch;
    std::vector<std::unique_ptr<IndexLocks>> indexes ROWAN_GUARDED_BY(latch);
  };
  static constexpr size_t kShards = 64;
  /// Indexes share a counter only if there are very many.
  static constexpr size_t kCounters = 4096;

  [[nodiscard]] std::atomic<uint32_t>& CountOf(IndexId index) const {
    return counts_[index.value() % kCounters];
  }
  [[nodiscard]] Shard* ShardOf(IndexId index) const { return &shards_[index.value() % kShards]; }
  static IndexLocks* Find(const Shard& shard, IndexId index) ROWAN_REQUIRES_SHARED(shard.latch);
  static FoldedHoldings* HoldingsOf(const Txn* txn, IndexId index);
  /// Exclusive latch held, as for all that follow.
  FoldedHoldings* MakeHoldings(Shard* shard, Txn* txn, IndexId index, IndexLocks** locks)
      ROWAN_REQUIRES(shard->latch);
  KeyRange* RangeToGrow(IndexLocks* locks, FoldedHoldings* holdings, LockMode mode,
                        const RangePiece& piece) const;
  void MakeRange(IndexLocks* locks, FoldedHoldings* holdings, LockMode mode,
                 const RangePiece& piece);
  static bool Grow(IndexLocks* locks, KeyRange* range, const RangePiece& piece);
  void Join(IndexLocks* locks, FoldedHoldings* holdings, KeyRange* range);
  void DropRange(IndexLocks* locks, FoldedHoldings* holdings, KeyRange* range);
  void ReleaseIn(Shard* shard, FoldedHoldings* holdings);

  mutable std::array<std::atomic<uint32_t>, kCounters> counts_{};
  mutable std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> memory_bytes_{0};
};

template <typename Found>
FoldedLocks::Own FoldedLocks::LookAt(const Txn* txn, const LockTarget& target, LockMode mode,
                                     LockKind kind, Found found) const {
  Own own;
  const auto note = [&](Txn* owner, LockMode held_mode, LockKind held) {
    if (owner == txn) {
      own.covers = own.covers || LockCovers(held_mode, held, mode, kind);
      own.weaker = own.weaker || (HasRecordPart(held) && HasRecordPart(kind));
    } else if (LocksConflict(held_mode, held, mode, kind)) {
      found(owner, held_mode, held);
    }
  };
  const Shard* shard = ShardOf(target.index);
  const SharedLatchGuard guard(&shard->latch);
  if (const IndexLocks* locks = Find(*shard, target.index); locks != nullptr) {
    locks->ranges.ForEachAt(target.key, [&](KeyRange* range) {
      const bool record = range->LocksRecord(target.key);
      note(range->owner, range->mode, record ? LockKind::kNextKey : LockKind::kGap);
    });
    for (const FoldedHoldings* holdings : locks->with_records) {
      for (const LockMode held : {LockMode::kShared, LockMode::kExclusive}) {
        const RecordLockSet* records = holdings->records[static_cast<size_t>(held)].get();
        if (records == nullptr || !HasRecordPart(kind)) continue;
        if (records->Contains(target.key_hash)) note(holdings->owner, held, LockKind::kRecord);
      }
    }
  }
  return own;
}

}  // namespace rowan
