// SPDX-License-Identifier: GPL-2.0-only
// QueueFaults: what goes wrong in the simulated queues of a FaultFileSystem (fault_queue.h).
// Two sorts: those a caller has to live with, which SetOneIn strews over everything, and those that
// fail for good, which come only when injected. Every chance and every fault is counted in the
// tally. Thread safety: all members from any thread.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

#include "base/random.h"
#include "tests/support/fault_tally.h"

namespace rowan {

class QueueFaults {
 public:
  explicit QueueFaults(uint64_t seed) : random_(seed) {}

  /// Each fault that a caller must live with happens at one in so many chances; 0: never.
  void SetOneIn(uint32_t chances);
  /// The next `times` chances of this kind are taken.
  void Inject(QueueFault fault, uint32_t times = 1);
  /// Nothing injected is left; SetOneIn stays.
  void Clear();

  /// At a chance for it: whether it happens now.
  bool Happens(QueueFault fault);

 private:
  std::mutex mutex_;
  Random random_;  // guarded by mutex_, as all below
  uint32_t one_in_ = 0;
  std::array<uint32_t, static_cast<size_t>(QueueFault::kCount)> injected_{};
};

}  // namespace rowan
