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
  /// Room for this many more bytes, until the next call; Commit keeps some of them.
  std::byte* Reserve(size_t bytes) {
    if (bytes > capacity_ - size_) [[unlikely]]
      Grow(bytes);
    return bytes_.get() + size_;
  }
  void Commit(size_t bytes) { size_ += bytes; }
  uint32_t Append(Bytes bytes) {
    const size_t offset = size_;
    std::byte* const target = Reserve(bytes.size());
    if (!bytes.empty()) std::memcpy(target, bytes.data(), bytes.size());
    Commit(bytes.size());
    return static_cast<uint32_t>(offset);
  }
  [[nodiscard]] Bytes At(uint32_t offset, size_t size) const {
    return {bytes_.get() + offset, size};
  }

 private:
  void Grow(size_t more);

  std::unique_ptr<std::byte[]> bytes_;
  size_t size_ = 0;
  size_t capacity_ = 0;
};

}  // namespace rowan
