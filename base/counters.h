// SPDX-License-Identifier: GPL-2.0-only
// Operator counters: one enum, one table (name, unit, help), sharded cache lines summed on read.
// A counter is born in counters.def: X(kEnumName, "status_name", "unit", "help sentence").
// The plugin shows each as a status variable Rowan_<name>. Thread-safe, relaxed; Add costs one
// relaxed add on a line that threads rarely share.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace rowan {

enum class Counter : uint32_t {
#define X(id, name, unit, help) id,
#include "base/counters.def"
#undef X
  kCount
};

struct CounterInfo {
  const char* name;
  const char* unit;
  const char* help;
};

const CounterInfo& CounterDescription(Counter counter);

/// Sum over all shards.
uint64_t ReadCounter(Counter counter);
/// For tests: sets all counters to zero.
void ResetCounters();

namespace counters_internal {
inline constexpr uint32_t kShards = 16;
inline constexpr size_t kCounters = static_cast<size_t>(Counter::kCount);
struct alignas(64) Shard {
  std::array<std::atomic<uint64_t>, kCounters> values{};
};
extern std::array<Shard, kShards> shards;
uint32_t ThisThreadShard();
}  // namespace counters_internal

inline void AddCounter(Counter counter, uint64_t amount = 1) {
  counters_internal::shards[counters_internal::ThisThreadShard()]
      .values[static_cast<size_t>(counter)]
      .fetch_add(amount, std::memory_order_relaxed);
}

}  // namespace rowan
