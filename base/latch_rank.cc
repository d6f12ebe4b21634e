// SPDX-License-Identifier: GPL-2.0-only
#include "base/latch_rank.h"

#if defined(ROWAN_DCHECK_ENABLED)

#include <array>
#include <cstddef>
#include <cstdio>
#include <cstdlib>

namespace rowan {
namespace {

constexpr size_t kRanks = static_cast<size_t>(LatchRank::kCount);

constexpr std::array<const char*, kRanks> kNames = {
#define X(rank) #rank,
#include "base/latch_rank.def"
#undef X
};

constexpr size_t kWordBits = 64;

/// No destructor: mutexes are taken until the very end of a thread.
struct Held {
  std::array<uint16_t, kRanks> counts{};
  std::array<uint64_t, (kRanks + kWordBits - 1) / kWordBits> any{};  // bit set: count is not 0
};
thread_local constinit Held held;

/// The latest of those held, or kCount.
LatchRank Latest() {
  for (size_t word = held.any.size(); word-- > 0;) {
    if (held.any[word] == 0) continue;
    const auto bit = static_cast<size_t>(63 - __builtin_clzll(held.any[word]));
    return static_cast<LatchRank>(word * kWordBits + bit);
  }
  return LatchRank::kCount;
}

/// An object may be waited for while others of its rank are held.
bool SeveralAtOnce(LatchRank rank) { return rank == LatchRank::kPage; }

[[noreturn]] void Fail(const char* what, LatchRank rank, LatchRank other) {
  const auto name = [](LatchRank one) {
    return one == LatchRank::kCount ? "none" : kNames[static_cast<size_t>(one)];
  };
  std::fprintf(stderr, "Latch order: %s %s, latest held: %s (docs/latches.md)\n", what, name(rank),
               name(other));
  std::abort();
}

}  // namespace

void NoteLatchWanted(LatchRank rank) {
  const LatchRank latest = Latest();
  if (latest == LatchRank::kCount || latest < rank) return;
  if (latest == rank && SeveralAtOnce(rank)) return;
  Fail("must not wait for", rank, latest);
}

void NoteLatchTaken(LatchRank rank) {
  const auto index = static_cast<size_t>(rank);
  ++held.counts[index];
  held.any[index / kWordBits] |= uint64_t{1} << index % kWordBits;
}

void NoteLatchReleased(LatchRank rank) {
  const auto index = static_cast<size_t>(rank);
  if (held.counts[index] == 0) Fail("released without being held:", rank, Latest());
  if (--held.counts[index] == 0) held.any[index / kWordBits] &= ~(uint64_t{1} << index % kWordBits);
}

void CheckLatchHeld(LatchRank rank) {
  if (held.counts[static_cast<size_t>(rank)] == 0) Fail("should be held:", rank, Latest());
}

}  // namespace rowan

#endif
