// SPDX-License-Identifier: GPL-2.0-only
// BufferPool::Impl: the parts of the pool put together. Internal to buffer/.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_loop.h"
#include "buffer/buffer_pool.h"
#include "buffer/checkpoint.h"
#include "buffer/cleaner.h"
#include "buffer/damage_reporter.h"
#include "buffer/frame_supply.h"
#include "buffer/mini_txn_limiter.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page_writer.h"
#include "buffer/pool_core.h"
#include "buffer/read_ahead.h"
#include "buffer/writer_slots.h"

namespace rowan {

/// What the log's pressure callback holds on to: it may outlive the pool.
struct PressureTarget {
  Mutex mutex{LatchRank::kPressureTarget};
  Cleaners* cleaners ROWAN_GUARDED_BY(mutex) = nullptr;
};

struct BufferPool::Impl {
  Impl(const BufferOptions& options, SpaceFiles* files, FileSystem* file_system, Log* log,
       ControlFile* control, std::unique_ptr<FrameArena> arena);

  struct DeadSpace {
    SpaceId space;
    uint32_t pages_max;
  };

  PoolCore core;
  DamageReporter damage;
  const WriterSlots slots;
  DoublewriteFile doublewrite;
  FrameSupply supply;
  Checkpointer checkpointer;
  Cleaners cleaners;
  ReadAhead read_ahead;
  MiniTxnLimiter gate;
  ThreadLoop evictor;
  ThreadLoop versions_folder;
  IoBackend backend = IoBackend::kAuto;
  const std::shared_ptr<PressureTarget> pressure;

  /// Serialises FlushAndCheckpoint and Resize.
  Mutex flush_mutex{LatchRank::kPoolFlush};
  PageWriter flush_writer ROWAN_GUARDED_BY(flush_mutex);
  Mutex lifecycle_mutex{LatchRank::kPoolLifecycle};
  bool background_running ROWAN_GUARDED_BY(lifecycle_mutex) = false;
  Mutex dead_mutex{LatchRank::kDeadSpaces};
  std::vector<DeadSpace> dead_spaces ROWAN_GUARDED_BY(dead_mutex);  // frames to be freed
  // Owned by the evictor, or by who calls ForgetDeadSpaces without background threads:
  std::vector<SpaceId> walked_spaces;  // sorted; their frames are looked for one after the other
  uint32_t walked_frames = 0;          // so far

  /// Reads the page into a frame. On success the frame is latched exclusively. kRestart: someone
  /// else has it now.
  Result<Frame*> Load(PageId id, FixHint hint);
  Status ReadInto(Frame* frame, PageId id, FixHint hint);
  /// The same while redo is under way: the page's records are applied.
  Status ReadAndRedo(Frame* frame, PageId id, FixHint hint);
  Status ReadFile(Frame* frame, PageId id, FixHint hint);
  /// Whatever the page lacks of the log does not matter any more: it begins anew. REQUIRES: its
  /// frame is published and latched.
  void ForgetRedo(uint64_t key);
  /// The page in the frame may be seen, once its latch is released.
  void EndLoad(Frame* frame, uint8_t usage) {
    frame->usage.store(usage, std::memory_order_relaxed);
    frame->state.store(FrameState::kResident, std::memory_order_release);
  }
  /// Damage found while reading; `page`: what was read, may be empty.
  Status Damaged(PageId id, FixHint hint, std::string_view what, Bytes page = {});

  ThreadLoop::Next EvictUnit();
  ThreadLoop::Next FoldVersions();
  /// Frees frames of dropped spaces, a bounded number. True if there is more to do.
  bool ForgetDeadSpaces();
  void ForgetPages(SpaceId space, uint32_t pages);
  Status FlushAllLocked(uint64_t deadline_nanos) ROWAN_REQUIRES(flush_mutex);
  Status ShrinkLocked(uint32_t frames) ROWAN_REQUIRES(flush_mutex);
  Status GrowLocked(uint32_t frames) ROWAN_REQUIRES(flush_mutex);
  void RetireFreeFrames();
  /// Empties one frame of a shrinking pool. True when it is retired.
  bool RetireFrame(Frame* frame);
};

}  // namespace rowan
