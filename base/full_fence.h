// SPDX-License-Identifier: GPL-2.0-only
// FullFence: of two threads that each store, fence and load what the other one stores, at least one
// loads what the other has stored. Thread safety: any.
#pragma once

#include <atomic>

namespace rowan {

inline void FullFence() {
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences, but read-modify-writes of one object.
  static std::atomic<int> object;
  object.fetch_add(0, std::memory_order_seq_cst);
#else
  std::atomic_thread_fence(std::memory_order_seq_cst);
#endif
}

}  // namespace rowan
