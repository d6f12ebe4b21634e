// SPDX-License-Identifier: GPL-2.0-only
// A few descriptors reserved for what must not fail when a process has used up all others: opening
// the redo log's files and syncing folders. One is closed and the call retried at once; later calls
// take new ones.
// Thread safety: all members from any thread.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/mutex.h"

namespace rowan {

/// Descriptors this process may have open now (the soft limit).
uint64_t DescriptorLimit();

class SpareDescriptors {
 public:
  /// Keeps `count` descriptors from the first Refill on.
  explicit SpareDescriptors(uint32_t count) : wanted_(count) {}
  ~SpareDescriptors();

  /// Opens what is missing, as far as the system permits. Cheap when nothing is missing.
  void Refill();
  /// Closes one, so that the next open of this process finds a free one. False if none is left.
  bool GiveUpOne();

 private:
  const uint32_t wanted_;
  std::atomic<uint32_t> count_{0};  // of descriptors_, for Refill
  Mutex mutex_{LatchRank::kSpareDescriptors};
  std::vector<int> descriptors_ ROWAN_GUARDED_BY(mutex_);
};

}  // namespace rowan
