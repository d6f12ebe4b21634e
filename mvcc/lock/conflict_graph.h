// SPDX-License-Identifier: GPL-2.0-only
// ConflictGraph: which transaction read what a concurrent one overwrote (an edge from the reader to
// the writer, an rw-antidependency), and which commits that forbids. Cahill, Roehm and Fekete:
// every cycle in a history under snapshot isolation contains two consecutive such edges, T1 -> T2
// -> T3, and T3 is the first of the cycle to commit; T1 may be T3. Ports and Grittner: if T1 writes
// nothing, T3 has committed before T1's snapshot was taken. So, whenever both edges exist and T3 is
// prepared, one of the three is rolled back: T2 while that is possible, else T1. Then T3 has
// committed, and retrying T2 meets no T3.
//
// Edges are kept while both ends are open. Edges to ended transactions are reduced to three
// numbers: when the first T3 was prepared (earliest_out), and how late a T1 may still be committing
// (open_in and latest_in). So each step costs as much as the open transactions it has to notify.
//
// Invariants:
//   1. a transaction that may be T3 (it is prepared) has notified all its readers (earliest_out);
//   2. a committed transaction stays, itself or summarised, while another is open that began before
//      it committed and is neither doomed nor safe;
//   3. of two edges that make such a pair, the one that adds the second, or prepares T3, knows of
//      both under the mutex.
// Order: page -> read ranges -> this -> snapshot slots. Thread safety: all members.
#pragma once

#include <atomic>
#include <cstdint>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "mvcc/lock/conflict_summary.h"
#include "mvcc/lock/serial_txn.h"

namespace rowan {

struct SerialTxnList {
  SerialTxn* first = nullptr;
  SerialTxn* last = nullptr;
  void Append(SerialTxn* txn);
  void Remove(SerialTxn* txn);
};

class ConflictGraph {
 public:
  ConflictGraph() = default;
  ~ConflictGraph() = default;
  ConflictGraph(const ConflictGraph&) = delete;
  ConflictGraph& operator=(const ConflictGraph&) = delete;

  SerialTxn* Begin();
  /// `take` takes its snapshot. Null: no possible writer is open, so nothing can go wrong and
  /// nothing need be noted of this transaction.
  SerialTxn* BeginReadOnly(FunctionRef<void()> take);
  /// A transaction prepared before a crash: it can commit, and what it read is unknown. A
  /// transaction that does not see its writes is T1, as if its T3 had committed long ago.
  SerialTxn* Adopt(TxnId id);
  /// From now on it has its snapshot.
  void NoteSnapshot(SerialTxn* txn);
  /// Before the first row carries the id.
  void SetId(SerialTxn* txn, TxnId id);
  /// The id was given back: no row carries it.
  void ForgetId(SerialTxn* txn);

  /// `reader` did not see what `writer` wrote, concurrently. `own` is one of them, and open. False:
  /// it has to be rolled back.
  [[nodiscard]] bool Add(SerialTxn* reader, SerialTxn* writer, const SerialTxn* own);
  /// As Add, of the transaction with this id, if anything is known of it.
  [[nodiscard]] bool AddWriter(SerialTxn* reader, TxnId writer);
  /// Before it commits. False: it must be rolled back. True once: it may commit at any time.
  [[nodiscard]] bool Prepare(SerialTxn* txn);
  /// After its commit is visible, or when it is certain that it will be undone. The caller must not
  /// use it any more. Returns the transactions that no longer matter, linked by `next`, for Delete;
  /// null: none. Allocates nothing.
  SerialTxn* End(SerialTxn* txn, bool committed);
  /// All that are left, when nothing ends them any more (prepared ones at a shutdown).
  std::vector<SerialTxn*> TakeAll();
  static void Delete(SerialTxn* txn) { delete txn; }

  // --- when memory is short ---
  /// Takes the one that committed first, for Delete: from now on `summary` stands for it as a
  /// reader, and its id is summarised. Null: there is none.
  SerialTxn* Summarise(SerialTxn* summary);
  /// False while what `summary` stands for still matters; else its ids are forgotten, too.
  bool ForgetSummary(const SerialTxn& summary);
  /// Keeps less about the ids. False: there is nothing to fold.
  bool FoldSummary();
  /// The oldest open one has to be rolled back.
  void DoomOldest();

  /// Open and committed ones, except adopted ones.
  [[nodiscard]] size_t size() const { return size_.load(std::memory_order_relaxed); }
  [[nodiscard]] uint64_t memory_bytes() const {
    return size() * sizeof(SerialTxn) + summary_bytes_.load(std::memory_order_relaxed);
  }
  /// Transactions looked at besides the caller's. For tests.
  [[nodiscard]] uint64_t steps() const;

 private:
  SerialTxn* New(SerialTxnList* list) ROWAN_REQUIRES(mutex_);
  bool AddLocked(SerialTxn* reader, SerialTxn* writer, const SerialTxn* own) ROWAN_REQUIRES(mutex_);
  static bool WriterIsPivot(const SerialTxn& reader, const ConflictSummary::Writer& writer);
  static bool ReaderIsPivot(const SerialTxn& reader, const ConflictSummary::Writer& writer);
  /// The oldest open one that is neither doomed nor safe: what committed before it no longer
  /// matters.
  [[nodiscard]] SerialTxn* FirstThatMayCommit() const ROWAN_REQUIRES(mutex_);
  [[nodiscard]] uint64_t OldestTime() const ROWAN_REQUIRES(mutex_);
  void Move(SerialTxn* txn, SerialTxnList* list) ROWAN_REQUIRES(mutex_);
  void Doom(SerialTxn* txn) ROWAN_REQUIRES(mutex_);
  void DropEdges(SerialTxn* txn) ROWAN_REQUIRES(mutex_);
  void TellWatchers(SerialTxn* txn, bool committed) ROWAN_REQUIRES(mutex_);
  void WatchAll(SerialTxn* txn) ROWAN_REQUIRES(mutex_);
  void Forget(SerialTxn* txn, SerialTxn** forgotten) ROWAN_REQUIRES(mutex_);

  mutable Mutex mutex_{LatchRank::kConflictGraph};
  uint64_t time_ ROWAN_GUARDED_BY(mutex_) = 1;
  uint64_t numbers_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t steps_ ROWAN_GUARDED_BY(mutex_) = 0;
  // Open ones, in the order they began.
  SerialTxnList writers_ ROWAN_GUARDED_BY(mutex_);  ///< not declared read only
  SerialTxnList readers_ ROWAN_GUARDED_BY(mutex_);
  SerialTxnList adopted_ ROWAN_GUARDED_BY(mutex_);
  SerialTxnList harmless_ ROWAN_GUARDED_BY(mutex_);   ///< doomed or safe
  SerialTxnList committed_ ROWAN_GUARDED_BY(mutex_);  ///< in the order they ended
  std::unordered_map<uint64_t, SerialTxn*> by_id_ ROWAN_GUARDED_BY(mutex_);
  ConflictSummary summary_ ROWAN_GUARDED_BY(mutex_);
  std::atomic<uint64_t> summary_bytes_{0};
  std::atomic<size_t> size_{0};
};

}  // namespace rowan
