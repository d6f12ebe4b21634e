// SPDX-License-Identifier: GPL-2.0-only
#include "base/counters.h"

#include "base/assertions.h"

namespace rowan {

const CounterInfo& CounterDescription(Counter counter) {
  static constexpr CounterInfo kInfos[] = {
#define X(id, name, unit, help) {name, unit, help},
#include "base/counters.def"
#undef X
  };
  ROWAN_CHECK(counter < Counter::kCount);
  return kInfos[static_cast<size_t>(counter)];
}

uint64_t ReadCounter(Counter counter) {
  uint64_t sum = 0;
  for (const counters_internal::Shard& shard : counters_internal::shards) {
    sum += shard.values[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  }
  return sum;
}

void ResetCounters() {
  for (counters_internal::Shard& shard : counters_internal::shards) {
    for (std::atomic<uint64_t>& value : shard.values) value.store(0, std::memory_order_relaxed);
  }
}

namespace counters_internal {

constinit std::array<Shard, kShards> shards{};

uint32_t ThisThreadShard() {
  static constinit std::atomic<uint32_t> next_shard{0};
  static constexpr uint32_t kUnassigned = ~uint32_t{0};
  // initial-exec: one load instead of a call when this library is loaded at run time; it is 4 bytes
  // of the room that the loader keeps for such variables.
  static thread_local constinit uint32_t shard __attribute__((tls_model("initial-exec"))) =
      kUnassigned;
  if (shard == kUnassigned) {
    shard = next_shard.fetch_add(1, std::memory_order_relaxed) % kShards;
  }
  return shard;
}

}  // namespace counters_internal
}  // namespace rowan
