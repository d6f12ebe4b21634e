// SPDX-License-Identifier: GPL-2.0-only
// The clock. See eviction.h.
#include "buffer/eviction.h"

#include "base/counters.h"

namespace rowan {

bool ClockSelects(Frame* frame) {
  if (frame->state.load(std::memory_order_relaxed) != FrameState::kResident) return false;
  const uint8_t usage = frame->usage.load(std::memory_order_relaxed);
  if (usage == 0) return true;
  // Racing with a hit may lose one of the two updates: the policy is a heuristic anyway.
  frame->usage.store(static_cast<uint8_t>(usage - 1), std::memory_order_relaxed);
  return false;
}

Frame* EvictClean(FrameTable* table, uint64_t steps, uint64_t* dirty_seen) {
  const uint32_t frames = table->limit();
  for (uint64_t step = 0; step < steps; ++step) {
    Frame* frame = table->frame(table->clock_hand()->Step(frames));
    if (!ClockSelects(frame)) continue;
    if (frame->first_dirty_lsn.load(std::memory_order_relaxed) != 0) {
      ++*dirty_seen;
      continue;
    }
    if (!table->TryTakeClean(frame)) continue;
    AddCounter(Counter::kPagesEvicted);
    return frame;
  }
  return nullptr;
}

}  // namespace rowan
