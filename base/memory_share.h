// SPDX-License-Identifier: GPL-2.0-only
// MemoryShare: a cap, in bytes, on the memory of an optional use; requests beyond it are refused.
// Thread safety: all members.
#pragma once

#include <atomic>
#include <cstdint>

namespace rowan {

class MemoryShare {
 public:
  explicit MemoryShare(uint64_t bytes_max) : bytes_max_(bytes_max) {}

  /// False if less than `bytes` is left.
  bool TryTake(uint64_t bytes) {
    const uint64_t taken = bytes_.fetch_add(bytes, std::memory_order_relaxed) + bytes;
    if (taken <= bytes_max_.load(std::memory_order_relaxed)) return true;
    GiveBack(bytes);
    refused_.store(true, std::memory_order_relaxed);
    return false;
  }
  void GiveBack(uint64_t bytes) { bytes_.fetch_sub(bytes, std::memory_order_relaxed); }
  void SetMax(uint64_t bytes_max) { bytes_max_.store(bytes_max, std::memory_order_relaxed); }

  [[nodiscard]] uint64_t bytes() const { return bytes_.load(std::memory_order_relaxed); }
  /// Whether a request was refused since the last call.
  bool TakeRefused() { return refused_.exchange(false, std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> bytes_max_;
  std::atomic<uint64_t> bytes_{0};
  std::atomic<bool> refused_{false};
};

}  // namespace rowan
