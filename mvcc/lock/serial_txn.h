// SPDX-License-Identifier: GPL-2.0-only
// SerialTxn: what optimistic serializability keeps about a transaction
// (docs/decisions/0008-optimistic-serializability.md). It outlives the transaction's commit for as
// long as a transaction that was concurrent with it is open. Times are numbers of commits and
// prepares, as ConflictGraph counts them. Thread safety: see the groups.
#pragma once

#include <atomic>
#include <cstdint>
#include <limits>
#include <unordered_map>
#include <unordered_set>

#include "base/ids.h"

namespace rowan {

struct ReadHoldings;
struct SerialTxnList;

struct SerialTxn {
  static constexpr uint64_t kNever = std::numeric_limits<uint64_t>::max();

  // Constant after it began.
  uint64_t number = 0;      ///< never used twice
  uint64_t first_time = 0;  ///< transactions that ended by then are not concurrent
  bool declared_read_only = false;

  // Read by any thread, written by the graph.
  std::atomic<uint64_t> commit_time{kNever};
  /// It has to be rolled back, so that others can commit: its thread checks at each step.
  std::atomic<bool> doomed{false};
  /// Declared read only, and nothing can go wrong with its snapshot: it may stop noting its reads.
  std::atomic<bool> safe{false};

  // Guarded by the graph's mutex.
  uint64_t snapshot_time = kNever;  ///< transactions in its snapshot were prepared by then
  uint64_t prepare_time = kNever;   ///< from then on it can only commit, as promised
  /// When the first transaction that overwrote what it had read was prepared.
  uint64_t earliest_out = kNever;
  /// How many readers of what it overwrote are open and may write...
  uint32_t open_in = 0;
  /// ...and the last time that another one committed, or took its snapshot to only read.
  uint64_t latest_in = 0;
  TxnId id;           ///< kNoTxn before its first write
  bool gone = false;  ///< rolled back, or forgotten
  // Edges between open transactions; ended ones are in the numbers above.
  std::unordered_set<SerialTxn*> readers;  ///< of what it wrote over
  std::unordered_set<SerialTxn*> writers;  ///< over what it read
  // For a transaction declared read only, until all that were open when it began have ended.
  std::unordered_set<SerialTxn*> watchers;  ///< its end may make their snapshots safe
  std::unordered_set<SerialTxn*> watched;   ///< the reverse
  bool never_safe = false;
  SerialTxnList* list = nullptr;  ///< it is in
  SerialTxn* previous = nullptr;
  SerialTxn* next = nullptr;

  // Used by the thread that runs it; when it is gone, by the one that forgets it.
  std::unordered_map<uint64_t, ReadHoldings*> holdings;  ///< what it read, by index: ReadRanges
  std::unordered_set<uint64_t> known_readers;            ///< their numbers: the graph knows them
};

}  // namespace rowan
