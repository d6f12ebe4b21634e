// SPDX-License-Identifier: GPL-2.0-only
// RowHashSet: hashes of rows, 11 to 21 bytes each in a large set, nothing in an empty one. A
// transaction may put ten million into one. Open addressing with linear probing, without
// tombstones: on a removal the hashes after it move up.
// Thread safety: none; guarded by its owner.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rowan {

class RowHashSet {
 public:
  void Add(uint64_t hash);
  void Remove(uint64_t hash);
  [[nodiscard]] bool Contains(uint64_t hash) const;
  [[nodiscard]] bool empty() const { return size_ == 0; }
  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t memory_bytes() const { return slots_.capacity() * sizeof(uint64_t); }

 private:
  static uint64_t Mark(uint64_t hash) { return hash == 0 ? 1 : hash; }
  /// Where `mark` is or would be put. REQUIRES: a free slot.
  [[nodiscard]] size_t SlotOf(uint64_t mark) const;
  [[nodiscard]] size_t Next(size_t slot) const { return (slot + 1) & (slots_.size() - 1); }
  void Grow();

  std::vector<uint64_t> slots_;  ///< a power of two of them, a quarter free; 0 = free
  size_t size_ = 0;
};

}  // namespace rowan
