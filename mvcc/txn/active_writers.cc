// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/active_writers.h"

#include <algorithm>

#include "base/assertions.h"

namespace rowan {

void ActiveWriters::Add(Txn* txn) {
  const TxnId id = txn->txn_id();
  ROWAN_DCHECK(id != kNoTxn);
  Shard& shard = ShardOf(id);
  const MutexLock lock(&shard.mutex);
  ROWAN_DCHECK(std::none_of(shard.items.begin(), shard.items.end(),
                            [id](const Item& item) { return item.first == id.value(); }));
  shard.items.emplace_back(id.value(), txn);
}

void ActiveWriters::Remove(TxnId id) {
  Shard& shard = ShardOf(id);
  const MutexLock lock(&shard.mutex);
  for (Item& item : shard.items) {
    if (item.first != id.value()) continue;
    item = shard.items.back();
    shard.items.pop_back();
    return;
  }
  ROWAN_DCHECK(id == kNoTxn);  // every writer is listed until it is removed
}

void ActiveWriters::Replace(TxnId id, Txn* successor) {
  ROWAN_DCHECK(successor->txn_id() == id);
  Shard& shard = ShardOf(id);
  const MutexLock lock(&shard.mutex);
  for (Item& item : shard.items) {
    if (item.first == id.value()) item.second = successor;
  }
}

}  // namespace rowan
