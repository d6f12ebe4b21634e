// SPDX-License-Identifier: GPL-2.0-only
// Raises an atomic to a new value if that is greater. Thread-safe.
#pragma once

#include <atomic>

namespace rowan {

/// Stores `value`, sequentially consistent, unless the atomic holds at least that much.
template <typename T>
void RaiseTo(std::atomic<T>* maximum, T value) {
  T seen = maximum->load(std::memory_order_relaxed);
  while (seen < value && !maximum->compare_exchange_weak(seen, value)) {
  }
}

}  // namespace rowan
