// SPDX-License-Identifier: GPL-2.0-only
// A small seeded generator (xoshiro256**, state filled by splitmix64): the same seed gives the same
// numbers everywhere. For tests, sampling and workloads; not for secrets. Not thread-safe.
#pragma once

#include <bit>
#include <cstdint>
#include <limits>

#include "base/assertions.h"

namespace rowan {

/// One step of splitmix64; also a good 64-bit mixer.
[[nodiscard]] constexpr uint64_t SplitMix64(uint64_t* state) {
  uint64_t mixed = (*state += 0x9E3779B97F4A7C15ull);
  mixed = (mixed ^ (mixed >> 30)) * 0xBF58476D1CE4E5B9ull;
  mixed = (mixed ^ (mixed >> 27)) * 0x94D049BB133111EBull;
  return mixed ^ (mixed >> 31);
}

class Random {
 public:
  using result_type = uint64_t;  // the standard's name: std::shuffle requires it

  constexpr explicit Random(uint64_t seed) {
    for (uint64_t& word : state_) word = SplitMix64(&seed);
  }

  static constexpr uint64_t min() { return 0; }
  static constexpr uint64_t max() { return std::numeric_limits<uint64_t>::max(); }
  constexpr uint64_t operator()() { return Next(); }

  constexpr uint64_t Next() {
    const uint64_t result = std::rotl(state_[1] * 5, 7) * 9;
    const uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// 0 <= result < limit; limit > 0. The bias is below limit / 2^64.
  uint64_t Below(uint64_t limit) {
    ROWAN_DCHECK(limit > 0);
    return static_cast<uint64_t>((static_cast<unsigned __int128>(Next()) * limit) >> 64);
  }
  /// first <= result <= last.
  uint64_t Between(uint64_t first, uint64_t last) { return first + Below(last - first + 1); }
  /// True once in `n` calls on average.
  bool OneIn(uint64_t n) { return Below(n) == 0; }
  /// 0 <= result < 1.
  double Fraction() { return static_cast<double>(Next() >> 11) * 0x1.0p-53; }

 private:
  uint64_t state_[4] = {};
};

}  // namespace rowan
