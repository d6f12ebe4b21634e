// SPDX-License-Identifier: GPL-2.0-only
// ActiveWriters: transaction id -> Txn of every transaction that has an id and has not finished.
// Sharded; a transaction cannot leave while it is used under its shard's mutex.
// Thread safety: all members. Actions run under the mutex: they must not block or re-enter.
#pragma once

#include <array>
#include <cstdint>
#include <utility>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "mvcc/txn/txn.h"

namespace rowan {

class ActiveWriters {
 public:
  void Add(Txn* txn);
  void Remove(TxnId id);
  /// From now on `successor` takes the place of `id`'s transaction.
  void Replace(TxnId id, Txn* successor);

  /// Runs action(Txn*); false if `id` is not here.
  template <typename Action>
  bool With(TxnId id, const Action& action) {
    Shard& shard = ShardOf(id);
    const MutexLock lock(&shard.mutex);
    for (const Item& item : shard.items) {
      if (item.first != id.value()) continue;
      action(item.second);
      return true;
    }
    return false;
  }

  /// Runs action(Txn*) for each, shard by shard.
  template <typename Action>
  void ForEach(const Action& action) const {
    for (Shard& shard : shards_) {
      const MutexLock lock(&shard.mutex);
      for (const Item& item : shard.items) action(item.second);
    }
  }

 private:
  static constexpr uint64_t kShards = 64;
  using Item = std::pair<uint64_t, Txn*>;
  struct alignas(64) Shard {
    Mutex mutex{LatchRank::kActiveWriters};
    std::vector<Item> items ROWAN_GUARDED_BY(mutex);  ///< few: writers of one moment / kShards
  };

  [[nodiscard]] Shard& ShardOf(TxnId id) { return shards_[id.value() % kShards]; }

  mutable std::array<Shard, kShards> shards_;
};

}  // namespace rowan
