// SPDX-License-Identifier: GPL-2.0-only
// UndoStreams: streams of undo records in ordinary pages of the undo space. What a transaction does
// with its stream is in UndoLog, what becomes of the records after its commit is in UndoPurge.
//
// A stream is an append-only chain of undo pages. A transaction takes a free stream at its first
// write (most recently used first) and owns its tail until it ends; the next transaction continues
// after it on the same page. So transactions within one stream are in commit order, small ones
// share pages, and the common path allocates nothing. Purge advances the head of each stream by
// itself and frees the pages it has passed, also in the middle of a transaction. Streams are found
// after a restart through the undo directory pages (first pages of the undo space): one slot per
// stream with head, tail and purge's position. Each page begins with a summary of what is before
// it, so a restart reads two or three pages of each stream, however long it is.
// Thread safety: all members; a transaction is passed by the thread that owns it.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/assertions.h"
#include "base/ids.h"
#include "base/latch.h"
#include "base/mutex.h"
#include "base/status.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_space.h"
#include "mvcc/undo/undo_stream.h"
#include "space/page_allocator.h"

namespace rowan {

struct UndoStatistics {
  uint64_t streams = 0;
  uint64_t pages = 0;                  ///< in use by streams
  uint64_t file_pages = 0;             ///< of the undo space's file
  uint64_t transactions_to_purge = 0;  ///< the history list length
};

class UndoStreams {
 public:
  explicit UndoStreams(PageAllocator* allocator, SpaceId space = kUndoSpace);
  ~UndoStreams();
  UndoStreams(const UndoStreams&) = delete;
  UndoStreams& operator=(const UndoStreams&) = delete;

  /// Creates the undo space and directory: of a new instance, or of a run's temporary tables.
  /// UndoRecovery finds an existing one.
  Status Create() { return space_.Create(); }

  /// Gives the transaction a stream without known damage until Release. REQUIRES: it has none.
  /// kBusy: too many.
  Status Acquire(Txn* txn);
  /// Frees the stream for the next transaction.
  void Release(Txn* txn);
  void Release(UndoStream* stream);
  /// Adds a page at the end of the transaction's stream, in its own group. No latch held.
  Status AddPage(Txn* txn);
  /// The last page is empty and not the only one: frees it, in its own group.
  Status DropEmptyTail(UndoStream* stream);

  /// Streams have the numbers 0 to stream_count() - 1 and are never dropped.
  [[nodiscard]] uint32_t stream_count() const {
    return stream_count_.load(std::memory_order_acquire);
  }
  [[nodiscard]] UndoStream* At(uint32_t number) const {
    ROWAN_DCHECK(number < stream_count());
    return streams_[number].load(std::memory_order_acquire);
  }
  /// Adds the next one. REQUIRES: during recovery, or while Acquire creates one.
  void Add(std::unique_ptr<UndoStream> stream);

  /// Damage was found in the stream: nothing more of it is purged, and once released no transaction
  /// gets it again, so its history and its pages stop growing. True the first time.
  bool MarkDamaged(UndoStream* stream);
  /// The last page of the transaction's stream cannot be used for the reason `status`, which is
  /// returned. Damage is noted, and a transaction that has written nothing loses the stream.
  Status CannotAppend(Txn* txn, Status status);
  [[nodiscard]] uint32_t damaged_count() const {
    return damaged_count_.load(std::memory_order_relaxed);
  }

  /// Committed transactions not purged yet, in one stream and in all.
  [[nodiscard]] bool HasHistory(uint32_t stream) const {
    return At(stream)->history.load(std::memory_order_acquire) != 0;
  }
  [[nodiscard]] uint64_t HistoryLength() const { return history_.load(std::memory_order_relaxed); }
  /// Some of it is of earlier runs. Damaged streams do not count: purge has stopped there.
  [[nodiscard]] bool HasHistoryOfLastRun() const;
  void AddHistory(uint64_t transactions) {
    history_.fetch_add(transactions, std::memory_order_relaxed);
  }
  void SubtractHistory(uint64_t transactions) {
    ROWAN_DCHECK(history_.load(std::memory_order_relaxed) >= transactions);
    history_.fetch_sub(transactions, std::memory_order_relaxed);
  }

  /// Subtracts records of the stream that purge has passed; those of earlier runs are not counted.
  static void SubtractRecords(UndoStream* stream, uint64_t records);
  /// Records of transactions that committed in this run and are not purged.
  struct Backlog {
    uint64_t kept = 0;       ///< all
    uint64_t blocked = 0;    ///< of streams where purge is stuck
    uint64_t purgeable = 0;  ///< of others, where no snapshot is in purge's way
  };
  [[nodiscard]] Backlog FindBacklog(Csn horizon) const;
  /// How long a transaction waits for each page that it adds to its undo, so that writers do not
  /// outrun purge. Any thread.
  void SetWriterDelay(uint32_t delay_us) {
    writer_delay_us_.store(delay_us, std::memory_order_relaxed);
  }

  /// How often a transaction waited.
  [[nodiscard]] uint64_t WriterDelays() const {
    return writer_delays_.load(std::memory_order_relaxed);
  }

  [[nodiscard]] UndoSpace* space() { return &space_; }
  [[nodiscard]] UndoStatistics Statistics() const;

 private:
  Result<UndoStream*> CreateStream();
  void DelayWriter();

  static constexpr uint32_t kFreeShards = 16;
  struct alignas(64) FreeShard {
    RankedLatch<LatchRank::kUndoStreams> latch;
    /// Last in, first out: the warmest first.
    std::vector<UndoStream*> streams ROWAN_GUARDED_BY(latch);
  };

  UndoSpace space_;
  std::unique_ptr<std::atomic<UndoStream*>[]> streams_;
  std::atomic<uint32_t> stream_count_{0};
  std::atomic<uint32_t> damaged_count_{0};
  std::array<FreeShard, kFreeShards> free_shards_;
  Mutex create_mutex_{LatchRank::kUndoCreate};
  std::atomic<uint64_t> history_{0};
  std::atomic<uint32_t> writer_delay_us_{0};
  std::atomic<uint64_t> writer_delays_{0};
};

}  // namespace rowan
