// SPDX-License-Identifier: GPL-2.0-only
// FrameArena: the memory of the pool. Two address ranges, pages and headers, reserved once for the
// largest pool allowed, of which a prefix is usable; so header and page follow from the frame
// number by one addition, and resizing moves nothing. Memory is taken when it is first written: an
// unused frame costs none.
//
// Invariants: a frame's addresses never change; header memory is zero at first, the initial state
// of a Frame, and once usable stays so; page memory released by Shrink stays readable (as zeros),
// so stale optimistic readers never fault.
// Thread safety: frame() and page() from any thread; Grow and Shrink serialised by the caller.
#pragma once

#include <bit>
#include <cstdint>
#include <memory>

#include "base/status.h"
#include "buffer/frame.h"

namespace rowan {

class FrameArena {
 public:
  /// Reserves addresses for `frames_max` frames (fewer if the system refuses, but at least
  /// `frames`) and makes the first `frames` usable. REQUIRES: IsPageSize(page_size_bytes).
  static Result<std::unique_ptr<FrameArena>> Create(uint32_t page_size_bytes, uint32_t frames,
                                                    uint32_t frames_max);
  ~FrameArena();
  FrameArena(const FrameArena&) = delete;
  FrameArena& operator=(const FrameArena&) = delete;

  [[nodiscard]] Frame* frame(uint32_t number) const { return headers_ + number; }
  [[nodiscard]] std::byte* page(uint32_t number) const {
    return pages_ + (size_t{number} << page_shift_);
  }
  /// Frames that were ever usable.
  [[nodiscard]] uint32_t frames_ever() const {
    return frames_ever_.load(std::memory_order_acquire);
  }
  [[nodiscard]] uint32_t frames_max() const { return frames_max_; }
  [[nodiscard]] uint32_t page_size_bytes() const { return uint32_t{1} << page_shift_; }

  /// Makes the first `frames` frames usable. kOutOfMemory.
  Status Grow(uint32_t frames);
  /// Returns the page memory of frames [frames, frames_ever) to the system.
  void Shrink(uint32_t frames);

 private:
  FrameArena() = default;
  Status Reserve(uint32_t frames);

  uint32_t page_shift_ = 0;
  uint32_t frames_max_ = 0;
  std::atomic<uint32_t> frames_ever_{0};
  std::byte* pages_ = nullptr;
  Frame* headers_ = nullptr;
  void* page_mapping_ = nullptr;
  size_t page_mapping_bytes_ = 0;
  size_t header_mapping_bytes_ = 0;
};

}  // namespace rowan
