// SPDX-License-Identifier: GPL-2.0-only
// ReadRanges: which keys optimistic serializable transactions have read, and which they looked for
// in vain: key ranges, in the trees that locked ranges use, too. Nobody waits for one; whoever
// changes a key asks who has read it. A transaction with many ranges in an index gets one in their
// place that spans them all.
//
// Who changes an entry asks under the exclusive latch of its leaf; who reads notes the range before
// it latches the first leaf. So either the change finds the range, or the read meets the change.
// Order: page -> this -> ConflictGraph. Thread safety: all members; a transaction's own ranges are
// changed by the thread that runs it only, and released by the one that forgets it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/latch.h"
#include "mvcc/lock/key_range_tree.h"
#include "mvcc/lock/serial_txn.h"

namespace rowan {

struct ReadHoldings;

struct ReadRange : KeyRange {
  ReadHoldings* holdings = nullptr;
  bool open = false;  ///< a scan is under way, of which less may be left
};

/// What one transaction has read in one index.
struct ReadHoldings {
  SerialTxn* reader = nullptr;
  IndexId index;
  KeyRange* ranges = nullptr;  ///< list through owner_next, newest first
  size_t count = 0;
  bool folded = false;           ///< there is one range for everything
  ReadHoldings* next = nullptr;  ///< the reader's, in other indexes
};

/// [low, high), keys without repeats.
struct ReadPiece {
  Bytes low;
  Bytes high;
  bool unbounded = false;  ///< to the end of the index
};

/// How a scan that is under way finds its range again.
struct OpenRead {
  ReadHoldings* holdings = nullptr;  ///< null: there is nothing to shorten
  ReadRange* range = nullptr;
};

class ReadRanges {
 public:
  /// More ranges of one transaction in one index become one: 150 KiB.
  static constexpr size_t kRangesMax = 512;

  ReadRanges() = default;
  ~ReadRanges() = default;
  ReadRanges(const ReadRanges&) = delete;
  ReadRanges& operator=(const ReadRanges&) = delete;

  /// The piece is read. `fold`: memory is short.
  void Add(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold);
  /// A scan of the piece begins, which may end early: Close follows.
  OpenRead Open(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold);
  /// What was read of it. REQUIRES: from Open of the same transaction, which has not ended.
  void Close(const OpenRead& read, const ReadPiece& piece);
  /// False: nobody but `own` has read in this index what a change would have to know of.
  [[nodiscard]] bool AnyOfOthers(const SerialTxn& own, IndexId index) const;
  /// Calls visit(SerialTxn*) for each range that holds the key; its transaction stays meanwhile.
  template <typename Visit>
  void ForEachReader(IndexId index, Bytes key, Visit visit) const {
    const Shard* shard = ShardOf(index);
    shard->latch.LockShared();
    if (const IndexReads* reads = Find(*shard, index); reads != nullptr) {
      reads->ranges.ForEachAt(
          key, [&](KeyRange* range) { visit(static_cast<ReadRange*>(range)->holdings->reader); });
    }
    shard->latch.UnlockShared();
  }
  /// One range for each index in place of what there is.
  void Fold(SerialTxn* reader);
  /// Everything of it; nobody finds it from then on.
  void Release(SerialTxn* reader);

  [[nodiscard]] uint64_t memory_bytes() const {
    return memory_bytes_.load(std::memory_order_relaxed);
  }
  /// For tests.
  [[nodiscard]] bool Check() const;

 private:
  struct IndexReads {
    explicit IndexReads(IndexId id) : index(id) {}
    const IndexId index;
    KeyRangeTree ranges;
    size_t readers = 0;
  };
  struct alignas(64) Shard {
    mutable RankedLatch<LatchRank::kReadRanges> latch;
    std::vector<std::unique_ptr<IndexReads>> indexes ROWAN_GUARDED_BY(latch);
  };
  static constexpr size_t kShards = 64;
  /// Indexes share a counter only where there are very many.
  static constexpr size_t kCounters = 4096;

  [[nodiscard]] std::atomic<uint32_t>& CountOf(IndexId index) const {
    return counts_[index.value() % kCounters];
  }
  [[nodiscard]] Shard* ShardOf(IndexId index) const { return &shards_[index.value() % kShards]; }
  static IndexReads* Find(const Shard& shard, IndexId index) ROWAN_REQUIRES_SHARED(shard.latch);
  static ReadHoldings* HoldingsOf(const SerialTxn& reader, IndexId index);
  ReadHoldings* MakeHoldings(Shard* shard, SerialTxn* reader, IndexId index, IndexReads** reads)
      ROWAN_REQUIRES(shard->latch);
  static bool Covers(const IndexReads& reads, const SerialTxn& reader, const ReadPiece& piece);
  OpenRead AddIn(SerialTxn* reader, IndexId index, const ReadPiece& piece, bool fold);
  ReadRange* Make(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece);
  void Drop(IndexReads* reads, ReadHoldings* holdings, KeyRange* range);
  /// Of all ranges, and `piece` if there is one.
  void FoldInto(IndexReads* reads, ReadHoldings* holdings, const ReadPiece* piece);
  void ReleaseIn(Shard* shard, ReadHoldings* holdings);

  mutable std::array<std::atomic<uint32_t>, kCounters> counts_{};
  mutable std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace rowan
