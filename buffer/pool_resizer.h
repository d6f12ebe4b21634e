// SPDX-License-Identifier: GPL-2.0-only
// PoolResizer: changes the number of frames while the pool is in use. Growing commits more of the
// reserved address range. Shrinking lowers the limit first, so that frames beyond it are retired
// instead of freed, then empties them one by one.
// Thread safety: one caller at a time, with exclusive use of the writer; concurrently with
// everything else.
#pragma once

#include <cstdint>

#include "base/status.h"
#include "buffer/checkpoint.h"
#include "buffer/frame_table.h"
#include "buffer/mini_txn_limiter.h"
#include "buffer/page_writer.h"

namespace rowan {

class PoolResizer {
 public:
  PoolResizer(FrameTable* frames, Checkpointer* checkpointer, MiniTxnLimiter* limiter)
      : frames_(frames), checkpointer_(checkpointer), limiter_(limiter) {}

  /// See BufferPool::Resize; `writer` empties frames.
  Status Resize(uint64_t frames, PageWriter* writer);

 private:
  Status Grow(uint32_t frames);
  Status Shrink(uint32_t frames, PageWriter* writer);
  void RetireFreeFrames();
  /// Empties one frame of a shrinking pool. True when it is retired.
  bool RetireFrame(Frame* frame);
  /// The remaining frames from `frames` on, and whether some of them are free.
  struct Left {
    uint32_t frames = 0;
    bool free = false;
  };
  Status EmptyFrames(uint32_t frames, PageWriter* writer, Left* left);

  FrameTable* const frames_;
  Checkpointer* const checkpointer_;
  MiniTxnLimiter* const limiter_;
};

}  // namespace rowan
