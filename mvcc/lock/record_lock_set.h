// SPDX-License-Identifier: GPL-2.0-only
// RecordLockSet: the record locks of one transaction in one index and mode when they are many, as
// a set of hashes: 5 to 7 bytes each, whatever the keys are. 42 bits of a hash are kept: a key
// mistaken for another (one query in 400,000 with ten million in the set) causes a needless wait,
// like a collision in the lock table. Nothing is ever removed.
// Thread safety: none; guarded by its owner.
#pragma once

#include <cstdint>
#include <memory>

namespace rowan {

class RecordLockSet {
 public:
  RecordLockSet();

  void Add(uint64_t key_hash);
  [[nodiscard]] bool Contains(uint64_t key_hash) const;
  [[nodiscard]] uint64_t size() const { return size_; }
  [[nodiscard]] uint64_t memory_bytes() const { return memory_bytes_; }

 private:
  /// Parts grow one at a time, so that growing needs little memory besides the set itself.
  static constexpr uint32_t kPartBits = 10;
  static constexpr uint32_t kParts = 1u << kPartBits;
  struct Part {
    std::unique_ptr<uint32_t[]> slots;  ///< open addressing; 0 = free
    uint32_t capacity = 0;
    uint32_t count = 0;
  };
  static_assert(sizeof(Part) == 16);

  static uint32_t Mark(uint64_t key_hash) {
    const auto low = static_cast<uint32_t>(key_hash);
    return low == 0 ? 1 : low;
  }
  /// Where `mark` is or would be put. REQUIRES: a free slot.
  static uint32_t SlotOf(const Part& part, uint32_t mark);
  void Grow(Part* part);

  std::unique_ptr<Part[]> parts_;
  uint64_t size_ = 0;
  uint64_t memory_bytes_ = 0;
};

}  // namespace rowan
