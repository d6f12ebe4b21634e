// SPDX-License-Identifier: GPL-2.0-only
// SparseImage: the bytes of a simulated file, in shared blocks. Copying an image copies pointers,
// and blocks of zeros take no memory: files of many megabytes, of which a test touches little, cost
// what it touches. Not thread-safe.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/bytes.h"

namespace rowan {

class SparseImage {
 public:
  [[nodiscard]] uint64_t size() const { return size_; }
  /// Bytes beyond the old size are zero, also those that an earlier, larger size had.
  void Resize(uint64_t size_bytes);
  /// REQUIRES: the range lies within the image.
  void Read(uint64_t offset, MutableBytes target) const;
  /// Grows the image if needed.
  void Write(uint64_t offset, Bytes source);
  /// Of the size and of all blocks that were ever written, whatever they hold now.
  [[nodiscard]] uint64_t Digest() const;

 private:
  static constexpr uint64_t kBlockBytes = 4096;
  using Block = std::array<std::byte, kBlockBytes>;

  /// The block, not shared with another image.
  Block& Own(uint64_t number);

  uint64_t size_ = 0;
  std::vector<std::shared_ptr<Block>> blocks_;  // null: zeros
};

}  // namespace rowan
