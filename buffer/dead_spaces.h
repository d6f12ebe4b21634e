// SPDX-License-Identifier: GPL-2.0-only
// DeadSpaces: dropped spaces whose frames are still to be freed, bit by bit and without I/O. Pages
// of a dead space are never written: a frame now in use is evicted as usual later.
// Thread safety: Add from any thread; ForgetSome by the evictor, or by one thread while there is no
// evictor.
#pragma once

#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "buffer/frame_table.h"
#include "io/space_files.h"

namespace rowan {

class DeadSpaces {
 public:
  DeadSpaces(FrameTable* frames, const SpaceFiles* files) : frames_(frames), files_(files) {}

  /// A file with few pages takes as many steps; else the whole pool is walked.
  void Add(SpaceId space, uint32_t pages_max);
  /// Frees a bounded number of frames. True if there is more to do.
  bool ForgetSome();

 private:
  struct Dead {
    SpaceId space;
    uint32_t pages_max;
  };
  void ForgetPages(SpaceId space, uint32_t pages);
  /// Like Drop, for a dirty page that is no longer needed. False if it is in use.
  bool TryForget(Frame* frame);

  FrameTable* const frames_;
  const SpaceFiles* const files_;
  Mutex mutex_{LatchRank::kDeadSpaces};
  std::vector<Dead> added_ ROWAN_GUARDED_BY(mutex_);
  // Owned by the caller of ForgetSome:
  std::vector<SpaceId> walked_;  // sorted; their frames are searched one after the other
  uint32_t walked_frames_ = 0;   // so far
};

}  // namespace rowan
