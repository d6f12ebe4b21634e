// SPDX-License-Identifier: GPL-2.0-only
#include "mvcc/txn/active_writers.h"

namespace rowan {

void ActiveWriters::Add(Txn* txn) {
  const TxnId id = txn->txn_id();
  Shard& shard = ShardOf(id);
  const MutexLock lock(&shard.mutex);
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
}

void ActiveWriters::Replace(TxnId id, Txn* successor) {
  Shard& shard = ShardOf(id);
  const MutexLock lock(&shard.mutex);
  for (Item& item : shard.items) {
    if (item.first == id.value()) item.second = successor;
  }
}

}  // namespace rowan
