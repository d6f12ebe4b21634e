// SPDX-License-Identifier: GPL-2.0-only
// UndoLog: what one transaction does with its undo: append, read, roll back record by record,
// change the state in its header.
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
// Thread safety: all members; a transaction is passed by the thread that owns it.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/mini_txn.h"
#include "mvcc/txn/txn.h"
#include "mvcc/txn/undo_pointer.h"
#include "mvcc/undo/undo_page.h"
#include "mvcc/undo/undo_streams.h"

namespace rowan {

class UndoLog {
 public:
  /// `streams` may be null in tests of transactions that write nothing.
  explicit UndoLog(UndoStreams* streams)
      : streams_(streams), space_(streams == nullptr ? nullptr : streams->space()) {}

  /// Largest payload of one record at this page size.
  [[nodiscard]] static size_t MaxPayloadBytes(uint32_t page_size_bytes);
  /// Log bytes that appending one record of this payload size adds to a group, at most.
  [[nodiscard]] static uint32_t LogBytesMax(size_t payload_bytes);

  /// Before a mini-transaction is started: takes a stream if the transaction has none and ensures
  /// that its tail page has room for a record of this payload size (it may add a page, in its own
  /// group). REQUIRES: txn has an id; no latch held.
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
  /// Inside the group that undid it: moves the end back over the newest record; marks any record
  /// while workers share the rollback (RollbackState::shared), each of them another one.
  Status DropUndone(MiniTxn* mini_txn, Txn* txn, UndoPointer pointer);
  /// Moves the end back over the newest record, which is rolled back. Its own group.
  Status DropLast(Txn* txn, UndoPointer pointer);
  /// Moves the end back to `end`, after which everything is rolled back. In groups of its own, each
  /// of which updates the counts: after an error the next call drops the rest.
  Status DropBehind(Txn* txn, UndoPointer end);
  /// After the last record: removes the header and returns the stream. Frees emptied pages.
  Status FinishRollback(Txn* txn);

  /// State changes of the header record; each its own group, returns its end LSN.
  Result<Lsn> MarkPrepared(Txn* txn, Bytes xid);
  /// Other bytes, as many as before, instead of a prepared transaction's XID.
  Result<Lsn> ReplaceXid(Txn* txn, Bytes xid);
  /// Takes the header out of the prepared state and removes the XID record: rollback follows.
  Status CancelPrepare(Txn* txn);
  /// `take_csn` is called once nothing can fail any more, just before the group is appended.
  using TakeCsn = FunctionRef<Csn()>;
  Result<Lsn> MarkCommitted(Txn* txn, TakeCsn take_csn);

  [[nodiscard]] UndoStreams* streams() const { return streams_; }
  /// The pool that undo pages live in: for mini-transactions that change nothing but undo.
  [[nodiscard]] BufferPool* pool() const { return space_->pool(); }

 private:
  /// After the last record of the stream. Leaves the transaction's counts alone.
  UndoPointer AppendAtTail(MiniTxn* mini_txn, const MutablePage& page, Txn* txn, UndoType type,
                           IndexId index, std::initializer_list<Bytes> payload_parts);
  static void Truncate(MiniTxn* mini_txn, const MutablePage& page, UndoStream* stream,
                       uint16_t offset);
  /// The same for the stream's last page, in its own group.
  Status TruncateTail(UndoStream* stream, uint16_t offset);
  Status MarkRolledBack(MiniTxn* mini_txn, UndoPointer pointer);
  /// Records of the tail page from `offset` on. kCorrupt: more than the transaction has.
  Result<uint64_t> CountTail(const Txn& txn, uint16_t offset) const;
  /// Takes the newest records off the transaction's counts.
  static void Forget(Txn* txn, uint64_t records, uint64_t bytes);
  /// The pages that a change of a transaction's state changes, held exclusively, and its header.
  struct StatePages {
    MutablePage header_page;
    MutablePage tail;
    TxnHeader header;
  };
  /// Starts it with room for `bytes` in the log besides the state.
  Status BeginStateChange(MiniTxn* mini_txn, size_t bytes, const Txn* txn, StatePages* pages);
  /// What saves a start from reading a transaction's pages. Empty: there is one page, or no room
  /// for so many ids with the XID.
  [[nodiscard]] std::vector<std::byte> IndexesForStart(Txn* txn, size_t xid_bytes) const;
  /// Reads the header record in a page held exclusively.
  Status LoadHeader(const MutablePage& page, const Txn* txn, TxnHeader* header) const;
  /// Logs and writes its changing part.
  static void StoreHeader(MiniTxn* mini_txn, const MutablePage& page, const Txn* txn,
                          const TxnHeader& header);

  UndoStreams* const streams_;
  UndoSpace* const space_;
};

}  // namespace rowan
