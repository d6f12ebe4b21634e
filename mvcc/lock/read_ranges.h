// SPDX-License-Identifier: GPL-2.0-only
// ReadRanges: which keys optimistic serializable transactions have read or looked for in vain: key
// ranges, in the same kind of tree as locked ranges. No transaction waits for one; a writer of a
// key asks which have read it. Ranges of one transaction that meet become one; when memory is
// short, neighbouring ones do, the nearest first.
//
// A writer of an entry asks under the exclusive latch of its leaf; a reader notes the range before
// it latches the first leaf, or reads its version. So either the change finds the range, or the
// read meets the change.
// Order: page -> this -> ConflictGraph. Thread safety: all members; only the thread that runs a
// transaction changes its ranges, and only the one that forgets it releases them.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <map>
#include <memory>
#include <string_view>
#include <unordered_map>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/latch.h"
#include "mvcc/lock/key_range_tree.h"
#include "mvcc/lock/serial_txn.h"

namespace rowan {

struct ReadHoldings;

struct ReadRange : KeyRange {
  ReadHoldings* holdings = nullptr;
};

/// What one transaction has read in one index.
struct ReadHoldings {
  SerialTxn* reader = nullptr;
  IndexId index;
  /// By where they begin; no two meet.
  std::map<std::string_view, ReadRange*> ranges;
  /// List through owner_next: scans under way, which may turn out shorter.
  KeyRange* open = nullptr;
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
  ReadRanges() = default;
  ~ReadRanges() = default;
  ReadRanges(const ReadRanges&) = delete;
  ReadRanges& operator=(const ReadRanges&) = delete;

  /// The piece is read.
  void Add(SerialTxn* reader, IndexId index, const ReadPiece& piece);
  /// Begins a scan of the piece, which may end early: Close follows.
  OpenRead Open(SerialTxn* reader, IndexId index, const ReadPiece& piece);
  /// The scan reaches further, or other bounds, than announced. REQUIRES: from Open, not null.
  void Resize(const OpenRead& read, const ReadPiece& piece);
  /// Records what was read. REQUIRES: from Open of the same transaction, which has not ended.
  void Close(const OpenRead& read, const ReadPiece& piece);
  /// False: in this index no transaction but `own` has read what a change must respect.
  [[nodiscard]] bool AnyOfOthers(const SerialTxn& own, IndexId index) const;
  /// Calls visit(SerialTxn*) for each range that holds the key; its transaction stays during the
  /// call.
  template <typename Visit>
  void ForEachReader(IndexId index, Bytes key, Visit visit) const {
    const Shard* shard = ShardOf(index);
    const SharedLatchGuard guard(&shard->latch);
    if (const IndexReads* reads = Find(*shard, index); reads != nullptr) {
      reads->ranges.ForEachAt(
          key, [&](KeyRange* range) { visit(static_cast<ReadRange*>(range)->holdings->reader); });
    }
  }
  /// In each index where the reader has more than one range, fills the smaller half of the gaps
  /// between them. False: there are none.
  bool MergeNearest(SerialTxn* reader);
  /// `into` takes over what `from` has read; a concurrent question does not miss both.
  void MoveTo(SerialTxn* into, SerialTxn* from);
  /// Releases everything it has read; it is not found from then on.
  void Release(SerialTxn* reader);

  [[nodiscard]] uint64_t memory_bytes() const {
    return memory_bytes_.load(std::memory_order_relaxed);
  }
  /// For tests.
  [[nodiscard]] bool Check() const;

 private:
  struct IndexReads {
    KeyRangeTree ranges;
    size_t readers = 0;
  };
  struct alignas(64) Shard {
    mutable RankedLatch<LatchRank::kReadRanges> latch;
    std::unordered_map<uint64_t, std::unique_ptr<IndexReads>> indexes ROWAN_GUARDED_BY(latch);
  };
  static constexpr size_t kShards = 64;
  /// Indexes share a counter only if there are very many.
  static constexpr size_t kCounters = 4096;

  [[nodiscard]] std::atomic<uint32_t>& CountOf(IndexId index) const {
    return counts_[index.value() % kCounters];
  }
  [[nodiscard]] Shard* ShardOf(IndexId index) const { return &shards_[index.value() % kShards]; }
  static IndexReads* Find(const Shard& shard, IndexId index) ROWAN_REQUIRES_SHARED(shard.latch);
  ReadHoldings* MakeHoldings(Shard* shard, SerialTxn* reader, IndexId index, IndexReads** reads)
      ROWAN_REQUIRES(shard->latch);
  static bool Covers(const ReadHoldings& holdings, const ReadPiece& piece);
  ReadRange* Make(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece);
  void Drop(IndexReads* reads, ReadRange* range);
  void AddTo(IndexReads* reads, ReadHoldings* holdings, const ReadPiece& piece);
  void DropOpen(IndexReads* reads, ReadHoldings* holdings, ReadRange* range);
  void MergeIn(IndexReads* reads, ReadHoldings* holdings);
  void ReleaseIn(Shard* shard, ReadHoldings* holdings) ROWAN_REQUIRES(shard->latch);

  mutable std::array<std::atomic<uint32_t>, kCounters> counts_{};
  mutable std::array<Shard, kShards> shards_;
  std::atomic<uint64_t> memory_bytes_{0};
};

}  // namespace rowan
