// SPDX-License-Identifier: GPL-2.0-only
#include "base/counters.h"

#include <vector>

#include "base/assertions.h"
#include "base/mutex.h"

namespace rowan {

const CounterInfo& CounterDescription(Counter counter) {
  static constexpr CounterInfo kInfos[] = {
#define X(id, name, unit, help) {name, unit, help},
#include "base/counters.def"
#undef X
#define X(id, name, help) {"written_" name, "bytes", help},
#include "base/write_causes.def"
#undef X
  };
  ROWAN_CHECK(counter < Counter::kCount);
  return kInfos[static_cast<size_t>(counter)];
}

namespace counters_internal {
namespace {

/// Owned shards, then the one that all further threads share.
constinit std::array<Shard, kOwnedShards + 1> shards{};
/// Shards from here up to the shared one were never owned.
constinit std::atomic<uint32_t> shards_used{0};

struct FreeShards {
  Mutex mutex{LatchRank::kCounterShards};
  std::vector<uint32_t> free ROWAN_GUARDED_BY(mutex);

  /// Never destroyed: threads may end after the statics of this library.
  static FreeShards& Get() {
    static FreeShards& all = *new FreeShards();
    return all;
  }
};

// initial-exec: one load instead of a call when this library is loaded at run time; it takes 8
// bytes of the room that the loader keeps for such variables.
thread_local constinit Shard* current __attribute__((tls_model("initial-exec"))) = nullptr;

/// Owns a shard for as long as its thread lives. Counts stay in the shard; the next owner adds.
class Ownership {
 public:
  Ownership() {
    FreeShards& all = FreeShards::Get();
    const MutexLock lock(&all.mutex);
    if (!all.free.empty()) {
      index_ = all.free.back();
      all.free.pop_back();
    } else if (shards_used.load(std::memory_order_relaxed) < kOwnedShards) {
      index_ = shards_used.fetch_add(1, std::memory_order_relaxed);
    }
    shards[index_].owned.store(index_ != kOwnedShards, std::memory_order_relaxed);
    current = &shards[index_];
  }
  ~Ownership() {
    current = &shards[kOwnedShards];  // for what the thread counts while it exits
    if (index_ == kOwnedShards) return;
    FreeShards& all = FreeShards::Get();
    const MutexLock lock(&all.mutex);
    all.free.push_back(index_);
  }
  Ownership(const Ownership&) = delete;
  Ownership& operator=(const Ownership&) = delete;

 private:
  uint32_t index_ = kOwnedShards;
};

__attribute__((noinline)) Shard& Assign() {
  static thread_local Ownership ownership;
  return *current;
}

template <typename Visit>
void VisitShards(Visit visit) {
  const uint32_t used = shards_used.load(std::memory_order_relaxed);
  for (uint32_t i = 0; i < used; ++i) visit(shards[i]);
  visit(shards[kOwnedShards]);
}

}  // namespace

Shard& ThisThreadShard() { return current != nullptr ? *current : Assign(); }

}  // namespace counters_internal

uint64_t ReadCounter(Counter counter) {
  uint64_t sum = 0;
  counters_internal::VisitShards([&](const counters_internal::Shard& shard) {
    sum += shard.values[static_cast<size_t>(counter)].load(std::memory_order_relaxed);
  });
  return sum;
}

void ResetCounters() {
  counters_internal::VisitShards([](counters_internal::Shard& shard) {
    for (std::atomic<uint64_t>& value : shard.values) value.store(0, std::memory_order_relaxed);
  });
}

}  // namespace rowan
