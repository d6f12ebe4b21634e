// SPDX-License-Identifier: GPL-2.0-only
// RefusedMemory: while it lives, one allocation of the thread that made it fails. Stands in front
// of operator new for the whole program; other threads, and this one inside of QuietMemory, get
// what they ask for.
#pragma once

#include <cstdint>

namespace rowan::faults {

class RefusedMemory {
 public:
  /// The n-th allocation from now on throws std::bad_alloc; 0: none, they are only counted.
  explicit RefusedMemory(uint64_t nth);
  ~RefusedMemory();
  RefusedMemory(const RefusedMemory&) = delete;
  RefusedMemory& operator=(const RefusedMemory&) = delete;

  [[nodiscard]] static uint64_t allocations();  ///< so far
  [[nodiscard]] static bool refused();          ///< the n-th was asked for
};

}  // namespace rowan::faults
