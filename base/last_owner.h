// SPDX-License-Identifier: GPL-2.0-only
// IsLastOwner: whether what a shared_ptr points to may be changed without a latch. Thread safety:
// the caller keeps others from taking a copy of the pointer meanwhile.
#pragma once

#include <atomic>
#include <memory>

namespace rowan {

/// True: nobody else owns it, and what former owners did with it comes before the return.
template <typename T>
[[nodiscard]] bool IsLastOwner(const std::shared_ptr<T>& pointer) {
  if (pointer.use_count() != 1) return false;  // a relaxed load
#if defined(__SANITIZE_THREAD__)
  // ThreadSanitizer knows no fences, but the read-modify-write of a copy's count.
  [[maybe_unused]] const std::shared_ptr<T> seen = pointer;
#else
  std::atomic_thread_fence(std::memory_order_acquire);
#endif
  return true;
}

}  // namespace rowan
