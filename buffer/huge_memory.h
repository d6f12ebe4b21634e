// SPDX-License-Identifier: GPL-2.0-only
// HugeMemory: a large zeroed array, in huge pages where the system provides them. Memory never
// written takes no room. Not thread-safe.
#pragma once

#include <cstddef>

namespace rowan {

inline constexpr size_t kHugePageBytes = size_t{2} << 20;

class HugeMemory {
 public:
  /// Ends the process if there are not even addresses: the caller needs it.
  explicit HugeMemory(size_t size_bytes);
  ~HugeMemory();
  HugeMemory(const HugeMemory&) = delete;
  HugeMemory& operator=(const HugeMemory&) = delete;

  [[nodiscard]] void* data() const { return data_; }

 private:
  void* mapping_ = nullptr;
  size_t mapping_bytes_ = 0;
  void* data_ = nullptr;
};

}  // namespace rowan
