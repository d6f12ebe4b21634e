// SPDX-License-Identifier: GPL-2.0-only
// Inside of the undo streams; used by undo*.cc only.
//
// A stream's chain of pages runs from `head` to `tail`. Who may touch what:
//   - the transaction that has the stream: tail, free offset, every page from its header's on.
//     Nobody else changes these pages, so it knows the end of the stream without a latch;
//   - purge, one thread per stream (`purging`): head, start, the pages before the start page.
// The page with the end may be shared: the page latch orders those bytes. Pages of one chain are
// latched in chain order. Both change the stream's slot in the directory, each its own fields,
// under the directory page's latch.
#pragma once

#include <array>
#include <atomic>
#include <memory>
#include <mutex>
#include <vector>

#include "base/latch.h"
#include "mvcc/undo/undo.h"
#include "mvcc/undo/undo_page.h"

namespace rowan {

struct UndoStream {
  uint32_t number = 0;
  // The owner's.
  PageNumber tail;
  uint16_t free = 0;   ///< free offset of the tail page
  uint16_t begin = 0;  ///< of the tail page's records
  uint64_t begun = 0;  ///< transactions whose headers were written here, not counting rolled back
  // Purge's.
  PageNumber head;
  /// Behind what is purged: a header, or a record of `purge_txn`; or where the next header will
  /// stand.
  UndoPointer start;
  TxnId purge_txn;           ///< `start` lies inside of this one; kNoTxn = between two
  uint64_t oldest_csn = 0;   ///< of the transaction at `start`, once looked at; 0 = not known
  bool damaged = false;      ///< purge met damage here: nothing more can be purged
  std::atomic<bool> purging{false};
  std::atomic<uint64_t> history{0};  ///< committed transactions from `start` on
};

/// Concurrent writing transactions at most; each idle stream costs one page.
inline constexpr uint32_t kUndoStreamsMax = 16384;

struct UndoStreams::Impl {
  Impl(PageAllocator* page_allocator, SpaceId undo_space)
      : allocator(page_allocator),
        pool(page_allocator->pool()),
        space(undo_space),
        streams(std::make_unique<std::atomic<UndoStream*>[]>(kUndoStreamsMax)) {}
  ~Impl();

  [[nodiscard]] size_t page_size() const { return pool->page_size_bytes(); }
  [[nodiscard]] PageId IdOf(PageNumber page) const { return {space, page}; }
  [[nodiscard]] UndoStream* StreamAt(uint32_t number) const {
    return streams[number].load(std::memory_order_acquire);
  }

  // --- streams (undo.cc) ---
  Status TakeStream(Txn* txn);
  Result<UndoStream*> CreateStream();
  void GiveStream(UndoStream* stream);
  void AddStream(std::unique_ptr<UndoStream> stream);
  Status AddPage(Txn* txn);
  /// The page, held already or latched now.
  Result<MutablePage> Hold(MiniTxn* mini_txn, PageNumber page) const;
  /// Initialises and logs a page of a stream.
  void InitPage(MiniTxn* mini_txn, const MutablePage& page, UndoPlace place,
                const UndoSummary& summary) const;
  /// Fixes the directory page of a stream; undo pages come before it, space pages after.
  Result<MutablePage> HoldDirectory(MiniTxn* mini_txn, uint32_t stream) const;
  [[nodiscard]] DirectorySlot SlotIn(const MutablePage& page, uint32_t stream) const;
  void SetSlot(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
               const DirectorySlot& slot) const;
  void SetTail(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream, PageNumber tail) const;
  /// Shared latch and a page of the right shape, or kCorrupt with a logged sentence.
  Result<PageGuard> Look(PageNumber page) const;
  [[nodiscard]] Status Damage(PageNumber page, const char* what) const;

  // --- one transaction (undo_transaction.cc) ---
  /// Behind the last record of the stream. Changes nothing of the transaction's counts.
  UndoPointer AppendAtTail(MiniTxn* mini_txn, const MutablePage& page, Txn* txn, UndoType type,
                           IndexId index, std::initializer_list<Bytes> payload_parts);
  void Truncate(MiniTxn* mini_txn, const MutablePage& page, UndoStream* stream, uint16_t offset);
  Status DropEmptyTail(UndoStream* stream);
  /// Reads and changes the header record in a page held exclusively.
  Status LoadHeader(const MutablePage& page, const Txn* txn, TxnHeader* header) const;
  static void SetBytes(MiniTxn* mini_txn, const MutablePage& page, uint16_t offset, Bytes bytes);

  // --- purge (undo_purge.cc) ---
  struct PurgeScratch;
  Result<PurgeStep> PurgeLocked(UndoStream* stream, Csn horizon, const PurgeVisit& visit,
                                WorkBudget* budget);
  Result<PurgeStep> PurgePages(UndoStream* stream, const PurgeVisit& visit, WorkBudget* budget,
                               PurgeScratch* scratch);
  Result<bool> EnterOldest(UndoStream* stream, Csn horizon);
  Status MoveToNextPage(UndoStream* stream, PageGuard* guard);
  Status CopyRecords(UndoStream* stream, PurgeScratch* scratch);
  Status VisitRecords(UndoStream* stream, const PurgeVisit& visit, WorkBudget* budget,
                      PurgeScratch* scratch);
  Status MarkDone(PageNumber page, uint16_t offset, UndoType type);
  Status FreeBehind(UndoStream* stream);

  // --- recovery (undo_recover.cc) ---
  struct StreamScan;
  struct Found;
  Status ReadDirectory(std::vector<std::pair<uint32_t, DirectorySlot>>* slots);
  Status RecoverStream(uint32_t number, const DirectorySlot& slot, Found* found);
  Result<bool> RecoverFromSummaries(const DirectorySlot& slot, UndoStream* stream,
                                    StreamScan* scan);
  Status LoadLastHeader(UndoPointer header, StreamScan* scan);
  Status RecoverByWalk(const DirectorySlot& slot, UndoStream* stream, StreamScan* scan);
  Status CompleteSlot(UndoStream* stream);
  Status CollectIndexes(Txn* txn) const;
  Status MakeUnfinished(UndoStream* stream, const StreamScan& scan,
                        std::vector<std::unique_ptr<Txn>>* unfinished);

  // --- checks (undo_check.cc) ---
  Status ScanPage(PageNumber page, const std::byte* bytes, uint16_t begin, StreamScan* scan) const;
  Status CheckStream(UndoStream* stream, const PageVisit& visit_page);
  /// One walk over the stream from where its records begin. kRestart, if it is `in_use`: it changed
  /// meanwhile, or is damaged.
  Status WalkStream(UndoStream* stream, const PageVisit& visit_page, bool in_use);
  Status CheckLinks(UndoStream* stream, const PageVisit& visit_page);

  static constexpr uint32_t kFreeShards = 16;
  struct alignas(64) FreeShard {
    Latch latch;
    std::vector<UndoStream*> streams;  ///< last in, first out: the warmest first
  };

  PageAllocator* const allocator;
  BufferPool* const pool;
  const SpaceId space;
  std::vector<PageNumber> directory;  ///< fixed once created or recovered
  std::unique_ptr<std::atomic<UndoStream*>[]> streams;
  std::atomic<uint32_t> stream_count{0};
  std::array<FreeShard, kFreeShards> free_shards;
  std::mutex create_mutex;
  std::atomic<uint64_t> history{0};
};

}  // namespace rowan
