// SPDX-License-Identifier: GPL-2.0-only
// CommitRing: transaction id -> in progress, committing, committed with a CSN, or rolled back; and
// low_txn, the id below which all have finished.
//
// The ring remembers the last `size` ids. An id takes over the slot of the id `size` before it:
//   - that one still runs: it keeps the slot, and the new id lives in the overflow map;
//   - it has finished: its outcome moves to the overflow map if a snapshot may still ask for it.
// So an entry in the ring never moves while its owner may publish, and an id found nowhere has
// finished and is visible to every snapshot that could ask.
//
// One writer that stays open holds low_txn back, and then readers ask about every later id. Most of
// these are in neither place: a filter, counters of the ids in the map by their low bits, shows
// that without the map's mutex. An id is counted before its slot changes hands, so a reader that
// sees another id in the slot sees the count. "Committing" lasts from just before a CSN is taken
// until it is published; a reader that meets it waits. Thread safety: all members; Claim is called
// by one thread at a time.
#pragma once

#include <atomic>
#include <cstdint>
#include <map>
#include <memory>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/latch.h"
#include "base/mutex.h"

namespace rowan {

/// State of a transaction, packed into a word: csn << 2 | state.
class TxnOutcome {
 public:
  enum State : uint64_t { kRunning = 0, kCommitting = 1, kCommitted = 2, kRolledBack = 3 };

  constexpr TxnOutcome() = default;
  constexpr explicit TxnOutcome(uint64_t word) : word_(word) {}
  constexpr TxnOutcome(State state, Csn csn) : word_((csn.value() << 2) | state) {}

  [[nodiscard]] constexpr State state() const { return static_cast<State>(word_ & 3); }
  [[nodiscard]] constexpr bool finished() const { return state() >= kCommitted; }
  /// kCommitted: its place in the order. kRolledBack: snapshots with a larger CSN were taken after
  /// its end and never meet it; 0 if none can.
  [[nodiscard]] constexpr Csn csn() const { return Csn(word_ >> 2); }
  [[nodiscard]] constexpr uint64_t word() const { return word_; }

 private:
  uint64_t word_ = 0;
};

class CommitRing {
 public:
  static constexpr uint64_t kSize = uint64_t{1} << 20;

  /// `size` is a power of two.
  explicit CommitRing(uint64_t size = kSize);

  /// Before use: ids below `next` count as finished unless added by AddUnfinished.
  void Reset(TxnId next);
  void AddUnfinished(TxnId id);

  /// Makes `id`, the next in order, a running transaction. Outcomes with a CSN below `horizon` are
  /// seen by every present and future snapshot.
  void Claim(TxnId id, Csn horizon);
  void SetCommitting(TxnId id);
  /// kCommitted or kRolledBack. Advances low_txn when `id` held it back.
  void Finish(TxnId id, TxnOutcome outcome, TxnId next);

  /// Never kCommitting: waits it out. An unknown id is committed with CSN 0.
  [[nodiscard]] TxnOutcome Find(TxnId id) const;
  [[nodiscard]] bool IsRunning(TxnId id) const;
  [[nodiscard]] TxnId low_txn() const { return TxnId(low_.load(std::memory_order_acquire)); }
  /// Walks over finished ids, at most `steps_max`. `next` = first id not yet claimed.
  void AdvanceLow(TxnId next, uint64_t steps_max);

  /// Drops finished outcomes of the overflow map for which `is_needed` is false.
  void PruneOverflow(FunctionRef<bool(TxnId, TxnOutcome)> is_needed);
  [[nodiscard]] uint64_t overflow_size() const {
    return overflow_size_.load(std::memory_order_relaxed);
  }
  /// Accesses to the overflow map, under its mutex. For tests.
  [[nodiscard]] uint64_t overflow_looks() const {
    return overflow_looks_.load(std::memory_order_relaxed);
  }

 private:
  struct Entry {
    std::atomic<uint64_t> id{0};
    std::atomic<uint64_t> outcome{TxnOutcome(TxnOutcome::kRolledBack, Csn(0)).word()};
  };
  /// No id has this value: marks an entry that changes hands.
  static constexpr uint64_t kChanging = UINT64_MAX;
  /// 256 KiB; many times the entries that accumulate between two prunings.
  static constexpr uint64_t kFilterSize = uint64_t{1} << 16;

  [[nodiscard]] Entry& EntryOf(uint64_t id) const { return entries_[id & mask_]; }
  [[nodiscard]] TxnOutcome Look(uint64_t id) const;
  [[nodiscard]] TxnOutcome LookInOverflow(uint64_t id) const;
  void StoreOutcome(uint64_t id, TxnOutcome outcome);
  void AddToOverflow(uint64_t id, TxnOutcome outcome) ROWAN_REQUIRES(overflow_mutex_);
  [[nodiscard]] std::atomic<uint32_t>& FilterOf(uint64_t id) const {
    return overflow_filter_[id % kFilterSize];
  }

  const uint64_t mask_;
  const std::unique_ptr<Entry[]> entries_;
  alignas(64) std::atomic<uint64_t> low_{1};
  alignas(64) RankedLatch<LatchRank::kRingAdvance> low_latch_;  ///< one thread advances

  mutable Mutex overflow_mutex_{LatchRank::kRingOverflow};
  std::map<uint64_t, TxnOutcome> overflow_ ROWAN_GUARDED_BY(overflow_mutex_);
  /// Counts of ids in the map by their low bits; written under overflow_mutex_, as what follows.
  const std::unique_ptr<std::atomic<uint32_t>[]> overflow_filter_;
  std::atomic<uint64_t> overflow_size_{0};
  std::atomic<uint64_t> overflow_running_{0};  ///< unfinished ones in the map
  mutable std::atomic<uint64_t> overflow_looks_{0};
};

}  // namespace rowan
