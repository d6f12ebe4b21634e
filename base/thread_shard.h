// SPDX-License-Identifier: GPL-2.0-only
// A small number per thread, for choosing one of several copies of a structure so that threads
// rarely contend for it. Thread-safe.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

/// 0: the thread has none so far. initial-exec, as in counters.cc.
inline thread_local constinit uint32_t thread_shard __attribute__((tls_model("initial-exec"))) = 0;

/// Constant for a thread's lifetime; take it modulo the number of copies.
[[nodiscard]] inline uint32_t ThreadShard() {
  static constinit std::atomic<uint32_t> last{0};
  if (thread_shard == 0) [[unlikely]]
    thread_shard = last.fetch_add(1, std::memory_order_relaxed) + 1;
  return thread_shard;
}

}  // namespace rowan
