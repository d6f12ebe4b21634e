// SPDX-License-Identifier: GPL-2.0-only
// Frame header: 64 bytes for each 16 KiB frame, in an array parallel to the arena, so header and
// page both follow from the frame number. Frames are type-stable memory: a stale optimistic reader
// can only fail to validate.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/ids.h"
#include "buffer/page_latch.h"

namespace rowan {

enum class FrameState : uint8_t {
  kFree,     ///< on the free list, or about to be; page_id is 0
  kLoading,  ///< exclusively latched by the thread that reads the page
  kResident,
  kRetired,  ///< retired by a shrinking pool; page_id is 0
};

/// Set in Frame::first_dirty_lsn while a copy of the page is on its way to disk and the page did
/// not change since the copy. The first change clears it; the writer that finds it still set knows
/// that the page on disk is current.
inline constexpr uint64_t kCopiedBit = uint64_t{1} << 63;
/// first_dirty_lsn of a changed page of a temporary space. Above every LSN, so no checkpoint waits
/// for the page and no sweep writes it: it is written only to make room.
inline constexpr Lsn kDirtyUnlogged{kCopiedBit - 1};

struct alignas(64) Frame {
  PageLatch latch;
  /// PageId::Packed of the page inside, 0 when none. Changes only under the exclusive latch.
  std::atomic<uint64_t> page_id{0};
  /// 0 = clean, else a lower bound of the first change not yet on disk, with kCopiedBit. Set by
  /// MiniTxn::Commit before it appends; cleared by the page writer. Use FirstDirtyLsn to read it.
  std::atomic<uint64_t> first_dirty_lsn{0};
  std::atomic<uint8_t> usage{0};  ///< clock policy, 0..3
  std::atomic<FrameState> state{FrameState::kFree};
  /// A page writer has a copy in flight. Set under the shared latch, so a holder of the exclusive
  /// latch that sees 0 knows that no write of the page is under way.
  std::atomic<uint8_t> io_in_progress{0};
  uint32_t number = 0;
  std::atomic<uint32_t> next_free{0};

  /// kNoLsn when clean.
  [[nodiscard]] Lsn FirstDirtyLsn() const {
    return Lsn(first_dirty_lsn.load(std::memory_order_acquire) & ~kCopiedBit);
  }
};
static_assert(sizeof(Frame) == 64);
// Headers of unused frames are zeros (buffer/frame_arena.h).
static_assert(static_cast<uint8_t>(FrameState::kFree) == 0);

}  // namespace rowan
