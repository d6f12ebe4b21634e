// SPDX-License-Identifier: GPL-2.0-only
// A small number per thread, for choosing one of several copies of a structure so that threads
// rarely contend for it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

/// Constant for a thread's lifetime; take it modulo the number of copies.
[[nodiscard]] inline uint32_t ThreadShard() {
  static std::atomic<uint32_t> next{0};
  thread_local const uint32_t shard = next.fetch_add(1, std::memory_order_relaxed);
  return shard;
}

}  // namespace rowan
