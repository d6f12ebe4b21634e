// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/rows_ahead_of_snapshot.h"

#include <xxhash.h>

#include "base/assertions.h"

namespace rowan {

uint64_t RowsAheadOfSnapshot::HashOf(TableId table, Bytes row_key) {
  return XXH3_64bits_withSeed(row_key.data(), row_key.size(), table.value());
}

void RowsAheadOfSnapshot::Add(TxnId owner, TableId table, Bytes row_key) {
  if (owner_ != owner) {
    owner_ = owner;
    rows_ = {};
    key_sizes_.clear();
  }
  ROWAN_DCHECK(owner != kNoTxn);
  rows_.Add(HashOf(table, row_key));
  const auto place = std::lower_bound(key_sizes_.begin(), key_sizes_.end(), row_key.size());
  if (place == key_sizes_.end() || *place != row_key.size()) {
    key_sizes_.insert(place, row_key.size());
  }
}

void RowsAheadOfSnapshot::Remove(TxnId owner, TableId table, Bytes row_key) {
  if (!empty(owner)) rows_.Remove(HashOf(table, row_key));
}

bool RowsAheadOfSnapshot::Contains(TableId table, Bytes row_key) const {
  return rows_.Contains(HashOf(table, row_key));
}

bool RowsAheadOfSnapshot::ContainsTail(TableId table, Bytes entry_key) const {
  ROWAN_DCHECK(std::is_sorted(key_sizes_.begin(), key_sizes_.end()));
  for (const size_t size : key_sizes_) {
    if (size > entry_key.size()) return false;
    if (Contains(table, entry_key.last(size))) return true;
  }
  return false;
}

}  // namespace rowan
