// SPDX-License-Identifier: GPL-2.0-only
// ReadAhead: a thread that reads pages before they are needed, many at a time. Requests are hints:
// a full queue, an empty free list or a damaged page just mean that the session does the read.
//
// Invariant: the thread holds the exclusive latches of the frames it is loading, and meanwhile
// waits only for their reads.
// Thread safety: Request from any thread; Start and Stop by the owner.
#pragma once

#include <array>
#include <memory>
#include <span>
#include <vector>

#include "base/mutex.h"
#include "base/thread_loop.h"
#include "buffer/frame_supply.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"
#include "io/write_batch.h"

namespace rowan {

class ReadAhead {
 public:
  ReadAhead(FrameTable* frames, PageFiles* files, FrameSupply* supply);

  Status Start();
  void Stop();
  void Request(std::span<const PageId> pages);

 private:
  static constexpr size_t kQueuePages = 1024;
  static constexpr size_t kBatchPages = 64;

  struct Load {
    Frame* frame = nullptr;
    PageId id;
    SpaceFiles::Location location;
  };

  ThreadLoop::Next RunUnit();
  size_t TakeRequests(std::array<PageId, kBatchPages>* pages);
  bool BeginLoad(PageId id);
  void FinishLoads(bool all_read);

  FrameTable* const frames_;
  PageFiles* const files_;
  FrameSupply* const supply_;
  ThreadLoop loop_;
  Mutex mutex_{LatchRank::kReadAhead};
  std::array<PageId, kQueuePages> queue_ ROWAN_GUARDED_BY(mutex_);  // ring
  size_t head_ ROWAN_GUARDED_BY(mutex_) = 0;
  size_t count_ ROWAN_GUARDED_BY(mutex_) = 0;
  std::atomic<bool> running_{false};
  std::vector<Load> loads_;            // owned by the thread
  std::unique_ptr<WriteBatch> batch_;  // owned by the thread
};

}  // namespace rowan
