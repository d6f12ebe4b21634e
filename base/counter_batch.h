// SPDX-License-Identifier: GPL-2.0-only
// CounterBatch: several counters at once, for who ends something that happens very often: the
// thread's shard is looked for once.
// Thread safety: one thread, the one that made it.
#pragma once

#include "base/counters.h"

namespace rowan {

class CounterBatch {
 public:
  CounterBatch()
      : shard_(counters_internal::ThisThreadShard()),
        owned_(shard_.owned.load(std::memory_order_relaxed)) {}

  void Add(Counter counter, uint64_t amount) {
    if (amount == 0) return;
    std::atomic<uint64_t>& value = shard_.values[static_cast<size_t>(counter)];
    if (owned_) {
      value.store(value.load(std::memory_order_relaxed) + amount, std::memory_order_relaxed);
    } else {
      value.fetch_add(amount, std::memory_order_relaxed);
    }
  }

 private:
  counters_internal::Shard& shard_;
  const bool owned_;
};

}  // namespace rowan
