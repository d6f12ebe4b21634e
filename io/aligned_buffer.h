// SPDX-License-Identifier: GPL-2.0-only
// Owned memory aligned for O_DIRECT, zero-filled; in huge pages from 2 MiB up, where the system
// provides them. Movable. Thread safety: plain memory.
#pragma once

#include <cstddef>
#include <memory>
#include <utility>

#include "base/bytes.h"
#include "io/file.h"

namespace rowan {

class AlignedBuffer {
 public:
  AlignedBuffer() = default;
  explicit AlignedBuffer(size_t size_bytes);
  AlignedBuffer(AlignedBuffer&& other) noexcept
      : bytes_(std::move(other.bytes_)), size_bytes_(std::exchange(other.size_bytes_, 0)) {}
  AlignedBuffer& operator=(AlignedBuffer&& other) noexcept {
    bytes_ = std::move(other.bytes_);
    size_bytes_ = std::exchange(other.size_bytes_, 0);
    return *this;
  }

  [[nodiscard]] std::byte* data() { return bytes_.get(); }
  [[nodiscard]] const std::byte* data() const { return bytes_.get(); }
  [[nodiscard]] size_t size() const { return size_bytes_; }
  [[nodiscard]] MutableBytes span() { return {bytes_.get(), size_bytes_}; }
  [[nodiscard]] Bytes span() const { return {bytes_.get(), size_bytes_}; }

 private:
  struct Free {
    void operator()(std::byte* memory) const noexcept;
  };
  std::unique_ptr<std::byte[], Free> bytes_;
  size_t size_bytes_ = 0;
};

}  // namespace rowan
