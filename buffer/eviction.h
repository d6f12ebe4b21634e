// SPDX-License-Identifier: GPL-2.0-only
// Eviction: finding frames for incoming pages.
//
// Policy: a clock hand over the frames with a 2-bit usage per frame. Pages enter with usage 1, from
// scans and read-ahead with 0; hits raise it (2, inner pages 3), each pass of the hand lowers it by
// one, 0 is evicted. Dirty frames are left to the page writers.
//
// Rule: nothing here waits for a page latch, so a thread that holds latches may look for a frame.
// Thread safety: from any thread.
#pragma once

#include <cstdint>

#include "buffer/frame_table.h"

namespace rowan {

/// Usage values of the clock.
inline constexpr uint8_t kUsageScan = 0;
inline constexpr uint8_t kUsageEntered = 1;
inline constexpr uint8_t kUsageHit = 2;
inline constexpr uint8_t kUsageInner = 3;

/// Free frames below which the evictor starts, and where it stops: 1 % and 2 % of the pool.
inline uint32_t FreeFramesLow(uint32_t frames) { return frames / 100 < 2 ? 2 : frames / 100; }
inline uint32_t FreeFramesHigh(uint32_t frames) { return frames / 50 < 4 ? 4 : frames / 50; }

/// One step of the policy on one frame: true if it should be evicted now.
bool ClockSelects(Frame* frame);

/// Moves the hand over at most `steps` frames until a clean one can be taken; returned latched and
/// loading. nullptr if none was found; `*dirty_seen` counts frames that were merely dirty.
Frame* EvictClean(FrameTable* table, uint64_t steps, uint64_t* dirty_seen);

}  // namespace rowan
