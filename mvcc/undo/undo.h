// SPDX-License-Identifier: GPL-2.0-only
// Undo: streams of undo records in ordinary pages of the undo space.
//
// A stream is an append-only chain of undo pages. A transaction takes a free stream at its first
// write (most recently used first) and owns its tail until it ends; the next transaction continues
// behind it on the same page. So transactions within one stream are in commit order, small ones
// share pages, and nothing is allocated on the common path. Purge advances the head of each stream
// by itself and frees pages behind it, also in the middle of a transaction. Streams are found after
// a restart through the undo directory pages (first pages of the undo space): one slot per stream
// with head, tail and purge's position. Each page begins with a summary of what is in front of it,
// so that a restart reads two or three pages of each stream, however long it is.
//
// Record layout in a page (offsets within the page):
//   u16 length of the whole record | u8 type | varint transaction-local or index fields | payload |
//   u16 length again (for walking backwards)
// A transaction begins with a kTxnHeader record: {txn id 6, state 1, csn 8, xid pointer 6}; its
// state is changed in place by kUndoSetState. Commit = that change in its own group.
//
// Rollback undoes one record at a time; each step is one group that changes the row or entry back
// AND moves the stream's end back over the record. A crash in the middle continues where it
// stopped; a fully rolled back transaction leaves nothing.
#pragma once

#include <cstdint>
#include <functional>
#include <initializer_list>
#include <memory>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/mini_txn.h"
#include "mvcc/txn/txn.h"
#include "mvcc/undo/undo_page.h"
#include "mvcc/undo/undo_pointer.h"
#include "base/work_budget.h"
#include "space/page_allocator.h"

namespace rowan {

struct UndoStatistics {
  uint64_t streams = 0;
  uint64_t pages = 0;       ///< in use by streams
  uint64_t file_pages = 0;  ///< of the undo space's file
  uint64_t transactions_to_purge = 0;  ///< the history list length
};

class UndoStreams {
 public:
  explicit UndoStreams(PageAllocator* allocator, SpaceId space = kUndoSpace);
  ~UndoStreams();

  /// Creates the undo space and directory: of a new instance, or of a run's temporary tables.
  Status Create();
  /// Largest payload of one record at this page size.
  [[nodiscard]] static size_t MaxPayloadBytes(uint32_t page_size_bytes);
  /// Log bytes that appending one record of this payload size adds to a group, at most.
  [[nodiscard]] static uint32_t LogBytesMax(size_t payload_bytes);

  /// Before a mini-transaction is started: takes a stream if the transaction has none and makes
  /// sure that its tail page has room for a record of this payload size (it may add a page, in its
  /// own group). REQUIRES: txn has an id; no latch held.
  Status EnsureRoom(Txn* txn, size_t payload_bytes);
  /// Appends one record (and the header record before the first one) inside the caller's group.
  /// Latches the tail page after all tree pages. Parts are concatenated. Never fails within
  /// EnsureRoom except kIoError/kCorrupt/kStopped.
  Result<UndoPointer> Append(MiniTxn* mini_txn, Txn* txn, UndoType type, IndexId index,
                             std::initializer_list<Bytes> payload_parts);

  /// Copies the record at `pointer`; verifies its bounds and type. kCorrupt with a logged sentence.
  Status Read(UndoPointer pointer, UndoRecordCopy* record);

  /// Newest record of the transaction, for rollback. kEndOfRange when only the header is left or
  /// the position is reached.
  Status ReadLast(Txn* txn, const UndoPosition& down_to, UndoRecordCopy* record,
                  UndoPointer* pointer);
  /// Inside the group that undid it: moves the end back over the newest record.
  Status DropLast(MiniTxn* mini_txn, Txn* txn, UndoPointer pointer);
  /// After the last record: removes the header and returns the stream. Frees emptied pages.
  Status FinishRollback(Txn* txn);

  /// State changes of the header record; each its own group, returns its end LSN.
  Result<Lsn> MarkPrepared(Txn* txn, Bytes xid);
  /// Takes the header out of the prepared state, and the XID record away: rollback follows.
  Status CancelPrepare(Txn* txn);
  /// `take_csn` is called when nothing can fail any more, just before the group is appended.
  using TakeCsn = std::function<Csn()>;
  Result<Lsn> MarkCommitted(Txn* txn, const TakeCsn& take_csn);
  /// The stream is free for the next transaction (after commit).
  void ReturnStream(Txn* txn);

  /// Recovery: scans the directory and the ends of all streams; for every transaction that is not
  /// committed makes a Txn (state kActive or kPrepared with xid) owning its stream. Returns the
  /// largest transaction id and CSN seen through the pointers. They are not the largest in the undo
  /// space: those are below the marks that were reserved before they were used.
  /// `passes_over_damage`: a stream whose ends cannot be read is left out.
  Status Recover(std::vector<std::unique_ptr<Txn>>* unfinished, TxnId* txn_max, Csn* csn_max,
                 bool passes_over_damage = false);

  /// Purge: for stream number `stream` hands out the records of its oldest committed transaction if
  /// its CSN is below `horizon`: calls `visit` for each record (no latch held) and frees the pages
  /// behind. Stops behind any record when the budget is used up; the next call goes on there. What
  /// pages were freed is remembered across a restart, too.
  using PurgeVisit = std::function<Status(TxnId txn, const UndoRecordCopy& record)>;
  enum class PurgeStep : uint8_t {
    kNothing,      ///< nothing that may be purged
    kPart,         ///< the budget was used up inside of a transaction
    kTransaction,  ///< the rest of one transaction
  };
  Result<PurgeStep> PurgeOldest(uint32_t stream, Csn horizon, const PurgeVisit& visit,
                                WorkBudget* budget);
  /// Purges the stream of a committed transaction to its end. REQUIRES: it is not returned yet, and
  /// nobody else purges these streams.
  Status PurgeOwn(const Txn* txn, const PurgeVisit& visit);
  [[nodiscard]] uint32_t stream_count() const;
  /// Committed transactions not purged yet, in one stream and in all.
  [[nodiscard]] bool HasHistory(uint32_t stream) const;
  [[nodiscard]] uint64_t HistoryLength() const;
  /// The pool that undo pages live in: for mini-transactions that change nothing but undo.
  [[nodiscard]] BufferPool* pool() const;
  [[nodiscard]] UndoStatistics Statistics() const;
  /// Walks all streams: links, record bounds, order. `visit_page` (may be empty) gets the pages of
  /// the directory and of all streams that purge is not at work in.
  using PageVisit = std::function<void(PageNumber page)>;
  /// `*passed_over`: a stream in which purge is at work was left out, pages and all.
  Status Check(const PageVisit& visit_page = {}, bool* passed_over = nullptr);

 private:
  struct Impl;
  std::unique_ptr<Impl> impl_;
};

void RegisterUndoRedo();

}  // namespace rowan
