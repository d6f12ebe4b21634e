// SPDX-License-Identifier: GPL-2.0-only
#include "plugin/blocks/key_set.h"

#include <algorithm>
#include <bit>

namespace rowan {
namespace {

/// A table of slots for them takes 16 MiB.
constexpr size_t kKeysMax = size_t{1} << 20;
/// A bitmap is the smaller one up to so many bits a key.
constexpr uint64_t kBitsOfKeyMax = 128;
constexpr uint64_t kSignBit = uint64_t{1} << 63;

}  // namespace

bool KeySet::Add(uint64_t key) {
  if (keys_.size() == kKeysMax) return false;
  keys_.push_back(key);
  return true;
}

void KeySet::Finish() {
  if (keys_.empty()) return;
  // As signed numbers: so those around 0 are close together, and those of one sign in any case.
  const auto [least, greatest] =
      std::minmax_element(keys_.begin(), keys_.end(),
                          [](uint64_t a, uint64_t b) { return (a ^ kSignBit) < (b ^ kSignBit); });
  least_ = *least;
  const uint64_t span = *greatest - least_;
  if (span / kBitsOfKeyMax < keys_.size()) {
    MakeBitmap(span);
  } else {
    MakeSlots();
  }
  std::vector<uint64_t>().swap(keys_);
}

void KeySet::MakeBitmap(uint64_t span) {
  bits_ = span + 1;
  words_.resize(bits_ / 64 + 1);
  for (const uint64_t key : keys_) {
    words_[(key - least_) / 64] |= uint64_t{1} << ((key - least_) % 64);
  }
}

void KeySet::MakeSlots() {
  slots_.resize(std::bit_ceil(2 * keys_.size()));
  mask_ = slots_.size() - 1;
  shift_ = 64 - static_cast<uint32_t>(std::bit_width(mask_));
  for (const uint64_t key : keys_) {
    has_zero_ = has_zero_ || key == 0;
    if (key == 0) continue;
    size_t slot = FirstSlot(key);
    while (slots_[slot] != 0 && slots_[slot] != key) slot = (slot + 1) & mask_;
    slots_[slot] = key;
  }
}

}  // namespace rowan
