// SPDX-License-Identifier: GPL-2.0-only
// Await: waits for what other threads do. Thread-safe.
#pragma once

#include <chrono>
#include <thread>

namespace rowan {

/// Asks each millisecond whether it is so. False: not within five minutes, which no machine is too
/// busy for, whatever is tried again after a pause of most of a minute.
template <typename Predicate>
[[nodiscard]] bool Await(Predicate is_so) {
  const auto end = std::chrono::steady_clock::now() + std::chrono::minutes(5);
  while (!is_so()) {
    if (std::chrono::steady_clock::now() > end) return false;
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
  return true;
}

}  // namespace rowan
