// SPDX-License-Identifier: GPL-2.0-only
// Evictor: the pool's thread "evict", which keeps some frames free, so that a thread that needs one
// rarely has to search, and frees those of dropped spaces. Thread safety: Start and Stop by the
// owner; Wake from any thread.
#pragma once

#include "base/thread_loop.h"
#include "buffer/cleaner.h"
#include "buffer/dead_spaces.h"
#include "buffer/frame_table.h"

namespace rowan {

class Evictor {
 public:
  Evictor(FrameTable* frames, DeadSpaces* dead_spaces, Cleaners* cleaners);

  Status Start() { return thread_.Start(); }
  void Stop() { thread_.Stop(); }
  void Wake() { thread_.Wake(); }

 private:
  ThreadLoop::Next RunUnit();

  FrameTable* const frames_;
  DeadSpaces* const dead_spaces_;
  Cleaners* const cleaners_;
  ThreadLoop thread_;
};

}  // namespace rowan
