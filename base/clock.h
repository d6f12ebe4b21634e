// SPDX-License-Identifier: GPL-2.0-only
// Monotonic time for waits, pacing and histograms; never wall-clock time. Thread-safe.
#pragma once

#include <chrono>
#include <cstdint>

namespace rowan {

[[nodiscard]] inline uint64_t MonotonicNanos() {
  return static_cast<uint64_t>(std::chrono::duration_cast<std::chrono::nanoseconds>(
                                   std::chrono::steady_clock::now().time_since_epoch())
                                   .count());
}

[[nodiscard]] inline uint64_t MonotonicMicros() { return MonotonicNanos() / 1000; }

}  // namespace rowan
