// SPDX-License-Identifier: GPL-2.0-only
// CounterBatch: several counters at once, for code on very hot paths: the thread's shard is looked
// up once.
// Thread safety: only the thread that made it.
#pragma once

#include "base/counters.h"

namespace rowan {

class CounterBatch {
 public:
  CounterBatch()
      : shard_(counters_internal::ThisThreadShard()),
        owned_(shard_.owned.load(std::memory_order_relaxed)) {}

  void Add(Counter counter, uint64_t amount) {
    if (amount != 0) shard_.Add(counter, amount, owned_);
  }

 private:
  counters_internal::Shard& shard_;
  const bool owned_;
};

}  // namespace rowan
