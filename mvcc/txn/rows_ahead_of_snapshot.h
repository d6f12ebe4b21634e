// SPDX-License-Identifier: GPL-2.0-only
// RowsAheadOfSnapshot: the rows that a transaction overwrote although their newest version was not
// in its snapshot (another transaction committed it later, and locking reads and updates use the
// newest version). The transaction sees its own version of such a row, so it must also see the
// row's index entries as they are now, not as its snapshot would show them: entries made by that
// other transaction may be missing in the snapshot, entries that it deleted may still be there. A
// scan asks here about entries whose creator or deleter the snapshot does not show; without such
// writes it never asks.
// Thread safety: the transaction's thread.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "mvcc/txn/row_hash_set.h"

namespace rowan {

class RowsAheadOfSnapshot {
 public:
  /// The set belongs to one transaction id.
  void Add(TxnId owner, TableId table, Bytes row_key);
  /// After the write was rolled back.
  void Remove(TxnId owner, TableId table, Bytes row_key);
  /// The transaction is over: gives the memory back.
  void Forget() {
    if (owner_ != kNoTxn) *this = {};
  }
  [[nodiscard]] size_t memory_bytes() const { return rows_.memory_bytes(); }
  [[nodiscard]] bool empty(TxnId owner) const { return owner_ != owner || rows_.empty(); }
  [[nodiscard]] bool Contains(TableId table, Bytes row_key) const;
  /// True if the last bytes of `entry_key` are the key of such a row: for callers that cannot
  /// locate the row's key in an entry's key.
  [[nodiscard]] bool ContainsTail(TableId table, Bytes entry_key) const;

 private:
  static uint64_t HashOf(TableId table, Bytes row_key);

  TxnId owner_;
  RowHashSet rows_;
  std::vector<size_t> key_sizes_;  ///< distinct ones, ascending
};

}  // namespace rowan
