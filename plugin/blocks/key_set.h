// SPDX-License-Identifier: GPL-2.0-only
// KeySet: a set of 64-bit keys that is filled, then finished, then only asked. Keys that lie close
// together, as numbers of rows do, are a bitmap; others a table of slots.
// Thread safety: const once finished.
#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace rowan {

class KeySet {
 public:
  /// False: too many, the key was not added.
  bool Add(uint64_t key);
  void Finish();
  /// REQUIRES: finished.
  [[nodiscard]] bool Has(uint64_t key) const {
    if (slots_.empty()) {
      const uint64_t bit = key - least_;
      return bit < bits_ && (words_[bit / 64] >> (bit % 64) & 1) != 0;
    }
    if (key == 0) return has_zero_;
    size_t slot = FirstSlot(key);
    while (slots_[slot] != 0 && slots_[slot] != key) slot = (slot + 1) & mask_;
    return slots_[slot] == key;
  }

 private:
  [[nodiscard]] size_t FirstSlot(uint64_t key) const {
    // The uppermost bits of the product with an odd number depend on all bits of the key.
    return static_cast<size_t>((key * 0x9E3779B97F4A7C15) >> shift_);
  }
  void MakeBitmap(uint64_t span);
  void MakeSlots();

  std::vector<uint64_t> keys_;  ///< until it is finished
  uint64_t least_ = 0;
  uint64_t bits_ = 0;
  std::vector<uint64_t> words_;  ///< the bitmap
  std::vector<uint64_t> slots_;  ///< 0: free; not used for a bitmap
  size_t mask_ = 0;
  uint32_t shift_ = 0;  ///< leaves as many bits as the mask has
  bool has_zero_ = false;
};

}  // namespace rowan
