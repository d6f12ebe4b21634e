// SPDX-License-Identifier: GPL-2.0-only
// SerialTxns: serializability without locks for reads (rowan_serializable = optimistic). Snapshot
// isolation with first-committer-wins (mvcc/row/newer_row.h), and beside it: who read what
// (ReadRanges), who wrote over what another had read (ConflictGraph), and the roll back of one
// transaction wherever a circle could come of it. Design and proof:
// docs/decisions/0008-optimistic-serializability.md.
//
// Txn::serial is what is kept of a transaction; null: nothing has to be noted of it, and none of
// this may be called.
// Failures are kDeadlock, and then the transaction can only be rolled back; another try can
// succeed. Nothing here waits for another transaction.
// Thread safety: all members; a Txn is passed by the thread that runs it.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/lock/conflict_graph.h"
#include "mvcc/lock/read_ranges.h"
#include "mvcc/txn/txn.h"

namespace rowan {

class SerialTxns {
 public:
  explicit SerialTxns(uint64_t memory_bytes_max) : memory_bytes_max_(memory_bytes_max) {}
  ~SerialTxns();
  SerialTxns(const SerialTxns&) = delete;
  SerialTxns& operator=(const SerialTxns&) = delete;

  /// Before the transaction reads or writes.
  void Begin(Txn* txn) { txn->serial = graph_.Begin(); }
  /// The same of one that will not write; `take` takes its snapshot.
  void BeginReadOnly(Txn* txn, FunctionRef<void()> take) {
    txn->serial = graph_.BeginReadOnly(take);
  }
  void NoteSnapshot(Txn* txn) { graph_.NoteSnapshot(txn->serial); }
  void SetId(Txn* txn) { graph_.SetId(txn->serial, txn->txn_id()); }

  /// Before the first leaf of the piece is latched, or under the latch of the only one.
  Status NoteRead(Txn* txn, IndexId index, const ReadPiece& piece);
  /// One key, be it there or not.
  Status NoteKey(Txn* txn, IndexId index, Bytes key);
  /// The same of a scan that may end early: Close follows, or the end of the transaction.
  Status Open(Txn* txn, IndexId index, const ReadPiece& piece, OpenRead* read);
  void Close(const OpenRead& read, const ReadPiece& piece) { reads_.Close(read, piece); }
  /// A read met something that the snapshot does not show, because `writer` is not in it.
  Status NoteWriter(Txn* txn, TxnId writer);
  /// Before the entry of this key (without repeat) is changed, inserted or marked, under the
  /// exclusive latch of its leaf.
  Status CheckWrite(Txn* txn, IndexId index, Bytes key);

  /// Before the commit record. After Ok the transaction can commit, whatever others do.
  Status Prepare(Txn* txn);
  /// After its commit is visible, or when it is certain that all it wrote will be undone.
  void End(Txn* txn, bool committed);

  void SetMemoryMax(uint64_t memory_bytes_max) {
    memory_bytes_max_.store(memory_bytes_max, std::memory_order_relaxed);
  }
  [[nodiscard]] uint64_t memory_bytes() const { return reads_.memory_bytes(); }
  /// Transactions of which something is kept.
  [[nodiscard]] size_t size() const { return graph_.size(); }
  /// For tests.
  [[nodiscard]] bool Check() const { return reads_.Check(); }

 private:
  static Status Refuse(Txn* txn);
  void Forget(SerialTxn* txn);
  /// Ok: go on. False: there is nothing to note any more.
  Result<bool> MustNote(Txn* txn);
  [[nodiscard]] bool MemoryIsShort() const {
    return reads_.memory_bytes() + graph_.size() * sizeof(SerialTxn) >=
           memory_bytes_max_.load(std::memory_order_relaxed);
  }

  std::atomic<uint64_t> memory_bytes_max_;
  ConflictGraph graph_;
  ReadRanges reads_;
};

}  // namespace rowan
