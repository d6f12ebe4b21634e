// SPDX-License-Identifier: GPL-2.0-only
// LatchRank: the place of each mutex and latch in the order of acquisition. A thread that holds one
// may wait only for those that come later in base/latch_rank.def, and not for one of equal rank,
// except for page latches, which have an order of their own (docs/latches.md). Acquiring without
// waiting (Try...) is not bound by the order.
//
// Builds with ROWAN_DCHECK_ENABLED record what each thread holds and abort when it breaks the
// order, even where a deadlock would need a rare race. In other builds the functions are empty.
// Thread safety: the record belongs to the calling thread.
#pragma once

#include <cstdint>

namespace rowan {

enum class LatchRank : uint8_t {
#define X(rank) rank,
#include "base/latch_rank.def"
#undef X
  kCount
};

#if defined(ROWAN_DCHECK_ENABLED)
/// The thread is about to wait for `rank`. Aborts, naming both ranks, if it must not.
void NoteLatchWanted(LatchRank rank);
void NoteLatchTaken(LatchRank rank);
/// Aborts if the thread does not hold one.
void NoteLatchReleased(LatchRank rank);
/// Aborts if the thread does not hold one.
void CheckLatchHeld(LatchRank rank);
#else
inline void NoteLatchWanted(LatchRank) {}
inline void NoteLatchTaken(LatchRank) {}
inline void NoteLatchReleased(LatchRank) {}
inline void CheckLatchHeld(LatchRank) {}
#endif

}  // namespace rowan
