// SPDX-License-Identifier: GPL-2.0-only
// ByteArena: bytes that are appended and thrown away together; the memory is kept. Offsets, not
// pointers, because it moves when it grows. Thread safety: one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>

#include "base/bytes.h"

namespace rowan {

class ByteArena {
 public:
  void Clear() { size_ = 0; }
  [[nodiscard]] size_t size() const { return size_; }
  uint32_t Append(Bytes bytes) {
    if (size_ + bytes.size() > capacity_) Grow(bytes.size());
    const size_t offset = size_;
    if (!bytes.empty()) std::memcpy(bytes_.get() + offset, bytes.data(), bytes.size());
    size_ += bytes.size();
    return static_cast<uint32_t>(offset);
  }
  /// The three one after the other.
  uint32_t Append(Bytes first, Bytes second, Bytes third) {
    const size_t more = first.size() + second.size() + third.size();
    if (size_ + more > capacity_) Grow(more);
    const size_t offset = size_;
    std::byte* target = bytes_.get() + offset;
    for (const Bytes& part : {first, second, third}) {
      if (!part.empty()) std::memcpy(target, part.data(), part.size());
      target += part.size();
    }
    size_ += more;
    return static_cast<uint32_t>(offset);
  }
  [[nodiscard]] Bytes At(uint32_t offset, uint32_t size) const {
    return {bytes_.get() + offset, size};
  }

 private:
  void Grow(size_t more);

  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace rowan
