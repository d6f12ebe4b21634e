// SPDX-License-Identifier: GPL-2.0-only
// The greater of an atomic's value and a new one. Thread-safe.
#pragma once

#include <atomic>

namespace rowan {

/// Stores `value`, sequentially consistent, unless as much or more is there.
template <typename T>
void RaiseTo(std::atomic<T>* maximum, T value) {
  T seen = maximum->load(std::memory_order_relaxed);
  while (seen < value && !maximum->compare_exchange_weak(seen, value)) {
  }
}

}  // namespace rowan
