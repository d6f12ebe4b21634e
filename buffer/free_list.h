// SPDX-License-Identifier: GPL-2.0-only
// FreeList: a lock-free stack of frame numbers, linked through Frame::next_free. The head carries a
// tag against the ABA problem.
// Thread safety: all members from any thread. Frames are type-stable, so reading the link of a
// frame that another thread just took is harmless: the tag makes the exchange fail.
#pragma once

#include <atomic>
#include <cstdint>

#include "base/assertions.h"
#include "buffer/frame_arena.h"

namespace rowan {

class FreeList {
 public:
  explicit FreeList(const FrameArena* arena) : arena_(arena) {}

  void Push(Frame* frame) {
    ROWAN_DCHECK(frame->number != kEnd);
    uint64_t head = head_.load(std::memory_order_relaxed);
    uint64_t next;
    do {
      frame->next_free.store(static_cast<uint32_t>(head), std::memory_order_relaxed);
      next = (((head >> 32) + 1) << 32) | frame->number;
    } while (!head_.compare_exchange_weak(head, next, std::memory_order_release,
                                          std::memory_order_relaxed));
    count_.fetch_add(1, std::memory_order_relaxed);
  }

  /// nullptr when empty.
  Frame* Pop() {
    uint64_t head = head_.load(std::memory_order_acquire);
    for (;;) {
      const auto number = static_cast<uint32_t>(head);
      if (number == kEnd) return nullptr;
      Frame* frame = arena_->frame(number);
      const uint64_t next =
          (((head >> 32) + 1) << 32) | frame->next_free.load(std::memory_order_relaxed);
      if (head_.compare_exchange_weak(head, next, std::memory_order_acquire,
                                      std::memory_order_acquire)) {
        count_.fetch_sub(1, std::memory_order_relaxed);
        return frame;
      }
    }
  }

  /// A snapshot; may lag behind Push and Pop.
  [[nodiscard]] uint32_t size() const {
    const int32_t count = count_.load(std::memory_order_relaxed);
    return count < 0 ? 0 : static_cast<uint32_t>(count);
  }

 private:
  static constexpr uint32_t kEnd = UINT32_MAX;

  const FrameArena* const arena_;
  alignas(64) std::atomic<uint64_t> head_{kEnd};
  std::atomic<int32_t> count_{0};
};

}  // namespace rowan
