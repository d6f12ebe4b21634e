// SPDX-License-Identifier: GPL-2.0-only
// SerialTxns: serializability without locks for reads (rowan_serializable = optimistic): snapshot
// isolation with first-committer-wins (mvcc/row/newer_row.h), and in addition: who read what
// (ReadRanges), who overwrote what another had read (ConflictGraph), and the rollback of one
// transaction wherever a cycle could result. Design and proof:
// docs/decisions/0008-optimistic-serializability.md.
//
// Txn::serial is what is kept of a transaction; null: nothing has to be noted of it, and nothing
// here may be called.
// Memory: committed transactions are summarised, the oldest first, before an open one has to give
// way: one reader stands for all of them, with their ranges, and a few numbers for each of their
// ids (ConflictSummary). It may conflict where none of them did. An open transaction merges its own
// ranges when it notes more. Only when that is not enough, because open ones read in very many
// indexes, is the oldest of these rolled back.
//
// Failures are kDeadlock, and then the transaction can only be rolled back; a retry can succeed.
// Nothing here waits for another transaction.
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
  explicit SerialTxns(uint64_t memory_bytes_max);
  ~SerialTxns();
  SerialTxns(const SerialTxns&) = delete;
  SerialTxns& operator=(const SerialTxns&) = delete;

  /// Before the transaction reads or writes.
  void Begin(Txn* txn) { txn->serial = graph_.Begin(); }
  /// As Begin, for one that will not write; `take` takes its snapshot.
  void BeginReadOnly(Txn* txn, FunctionRef<void()> take) {
    txn->serial = graph_.BeginReadOnly(take);
  }
  /// A transaction prepared before a crash: one that does not see its writes is rolled back,
  /// because what it had not seen itself is no longer known.
  void Adopt(Txn* txn) { txn->serial = graph_.Adopt(txn->txn_id()); }
  void NoteSnapshot(Txn* txn) { graph_.NoteSnapshot(txn->serial); }
  void SetId(Txn* txn) { graph_.SetId(txn->serial, txn->txn_id()); }
  void ForgetId(Txn* txn) { graph_.ForgetId(txn->serial); }

  /// Before the first leaf of the piece is latched, or under the latch of the only one whose keys
  /// were not noted before.
  Status NoteRead(Txn* txn, IndexId index, const ReadPiece& piece);
  /// One key, whether or not it exists.
  Status NoteKey(Txn* txn, IndexId index, Bytes key);
  /// As NoteRead, for a scan that may end early, or reach further: then call it again, with the
  /// whole piece. Close follows, or the end of the transaction.
  Status Open(Txn* txn, IndexId index, const ReadPiece& piece, OpenRead* read);
  void Close(const OpenRead& read, const ReadPiece& piece) { reads_.Close(read, piece); }
  /// A read met something that the snapshot does not show, because `writer` is not in it.
  Status NoteWriter(Txn* txn, TxnId writer);
  /// Before the entry of this key (without repeat) is changed, inserted or marked, under the
  /// exclusive latch of its leaf.
  Status CheckWrite(Txn* txn, IndexId index, Bytes key);

  /// Before the commit record. After Ok the transaction can commit, whatever other transactions do.
  Status Prepare(Txn* txn);
  /// After its commit is visible, or when it is certain that all it wrote will be undone.
  void End(Txn* txn, bool committed);

  void SetMemoryMax(uint64_t memory_bytes_max) {
    memory_bytes_max_.store(memory_bytes_max, std::memory_order_relaxed);
  }
  /// Memory of what was read.
  [[nodiscard]] uint64_t memory_bytes() const { return reads_.memory_bytes(); }
  /// Transactions of this run that are kept individually.
  [[nodiscard]] size_t size() const { return graph_.size(); }
  /// For tests.
  [[nodiscard]] bool Check() const { return reads_.Check(); }
  [[nodiscard]] uint64_t steps() const { return graph_.steps(); }

 private:
  static Status Refuse(Txn* txn);
  void Forget(SerialTxn* txn);
  /// Drops the summary when it no longer matters; while memory is short, makes it larger and
  /// coarser.
  void TendSummary();
  void Tend();
  void Summarise();
  /// True: there is something to note.
  Result<bool> MustNote(Txn* txn);
  [[nodiscard]] bool MemoryIsShort() const {
    return reads_.memory_bytes() + graph_.memory_bytes() >=
           memory_bytes_max_.load(std::memory_order_relaxed);
  }

  std::atomic<uint64_t> memory_bytes_max_;
  ConflictGraph graph_;
  ReadRanges reads_;
  std::atomic<bool> tended_{false};  ///< the right to change the summary; no thread waits for it
  /// Stands for committed transactions as a reader; never overwritten, never committed itself.
  SerialTxn summary_;
  std::atomic<bool> has_summary_{false};  ///< written by its keeper
};

}  // namespace rowan
