// SPDX-License-Identifier: GPL-2.0-only
// Frame header: 64 bytes beside each 16 KiB frame, in an array parallel to the arena, so header and
// page both follow from the frame number. Frames are type-stable memory: a stale optimistic reader
// can only fail to validate.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "base/latch.h"

namespace rowan {

enum class FrameState : uint8_t {
  kFree,     ///< on the free list; page_id is 0
  kLoading,  ///< exclusively latched by the thread that reads the page
  kResident,
};

struct alignas(64) Frame {
  Latch latch;
  /// PageId::Packed of the page inside, 0 when none. Changes only under the exclusive latch.
  std::atomic<uint64_t> page_id{0};
  /// 0 = clean, else a lower bound of the first change not yet on disk. Set by MiniTxn::Commit
  /// before it appends; cleared by the cleaner.
  std::atomic<uint64_t> first_dirty_lsn{0};
  std::atomic<uint8_t> usage{0};       ///< clock policy, 0..3
  std::atomic<FrameState> state{FrameState::kFree};
  std::atomic<uint8_t> pinned{0};      ///< roots: never evicted
  std::atomic<uint8_t> io_in_progress{0};  ///< the cleaner has a copy in flight
  uint32_t number = 0;
  std::atomic<uint32_t> next_free{0};
};
static_assert(sizeof(Frame) == 64);

}  // namespace rowan
