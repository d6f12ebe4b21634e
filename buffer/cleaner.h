// SPDX-License-Identifier: GPL-2.0-only
// Cleaners: the threads that write pages before others must wait. Each tick they write what the
// evictor asked for, then sweep as many checkpoint shards as the log has grown by, within the I/O
// budget; when the log is nearly full the budget is ignored. A separate thread publishes what the
// sweeps have proven: with very many files to sync that takes long, and cleaning goes on meanwhile.
//
// Pace: a full round of sweeps per kRoundFraction of the log capacity, so the checkpoint is at most
// about three quarters of the capacity behind. By time, a round per idle_round_micros: an idle pool
// is written to the last page, which keeps the next start short.
// Thread safety: Start and Stop by the owner; Wake and the settings from any thread.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "base/thread_loop.h"
#include "buffer/checkpoint.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"
#include "buffer/page_writer.h"
#include "buffer/writer_slots.h"

namespace rowan {

class Cleaners {
 public:
  /// Uses the cleaners' writer slots.
  Cleaners(FrameTable* frames, PageFiles* files, Checkpointer* checkpointer,
           DoublewriteFile* doublewrite, const WriterSlots& slots);

  Status Start();
  void Stop();
  /// Runs all cleaners now.
  void Wake();
  /// The log is so full that a session waits.
  void OnLogPressure();
  void SetIoCapacity(uint32_t pages_per_second) {
    pages_per_second_.store(pages_per_second, std::memory_order_relaxed);
  }

 private:
  struct Quota {
    uint32_t first = 0;
    uint32_t count = 0;
    SweepMode mode = SweepMode::kLazy;
  };

  ThreadLoop::Next RunUnit(PageWriter* writer);
  ThreadLoop::Next RunCheckpoint();
  Status CleanAhead(PageWriter* writer);
  Quota TakeQuota();
  /// True if the log is nearly full, with the checkpoint at `lsn`.
  [[nodiscard]] bool UrgentAt(Lsn lsn) const;
  void AdvancePace() ROWAN_REQUIRES(mutex_);
  /// Tells the sweeps which changes are old.
  void AdvanceAge(uint64_t now_micros) ROWAN_REQUIRES(mutex_);
  void SpendBudget(uint64_t pages);

  FrameTable* const frames_;
  PageFiles* const files_;
  Checkpointer* const checkpointer_;
  std::vector<std::unique_ptr<PageWriter>> writers_;
  std::vector<std::unique_ptr<ThreadLoop>> loops_;
  ThreadLoop checkpoint_loop_;
  std::atomic<uint32_t> pages_per_second_;
  /// The tail when a session last had to wait: sweeps are urgent until the checkpoint reaches it.
  std::atomic<Lsn> pressure_lsn_{kNoLsn};

  Mutex mutex_{LatchRank::kCleanerPace};
  uint32_t next_shard_ ROWAN_GUARDED_BY(mutex_) = 0;
  double shard_debt_ ROWAN_GUARDED_BY(mutex_) = 0;
  double page_budget_ ROWAN_GUARDED_BY(mutex_) = 0;
  Lsn paced_lsn_ ROWAN_GUARDED_BY(mutex_);
  uint64_t paced_micros_ ROWAN_GUARDED_BY(mutex_) = 0;
  Lsn sampled_lsn_ ROWAN_GUARDED_BY(mutex_);  // tail when the age was last updated
  uint64_t sampled_micros_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint64_t checkpoint_micros_ = 0;  // when the last one was tried, owned by checkpoint_loop_
};

/// What the log's pressure callback refers to: it may outlive the pool.
struct PressureTarget {
  Mutex mutex{LatchRank::kPressureTarget};
  Cleaners* cleaners ROWAN_GUARDED_BY(mutex) = nullptr;
};

}  // namespace rowan
