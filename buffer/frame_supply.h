// SPDX-License-Identifier: GPL-2.0-only
// FrameSupply: provides an empty frame for an incoming page: from the free list, by evicting a
// clean page, or, when there is none, by writing dirty pages from the calling thread.
//
// Where hardly a page is clean, the caller who takes one writes others, too: the next page that it
// needs must not take the frame of this one, which it may have to come back for, and so on for
// ever.
//
// Deadlock freedom: the caller may hold page latches. Here it waits for other callers' I/O, for the
// log and for its own I/O, never for a page latch; the log and page writers need no latch. If every
// frame is latched by threads that all want another one, the wait ends after kPatience with an
// error for one of them.
// Thread safety: all members from any thread.
#pragma once

#include <atomic>
#include <functional>
#include <memory>
#include <vector>

#include "base/mutex.h"
#include "buffer/eviction.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"
#include "buffer/page_writer.h"
#include "buffer/writer_slots.h"

namespace rowan {

class FrameSupply {
 public:
  /// Callers that write pages share the page writers of the sessions' slots.
  FrameSupply(FrameTable* frames, PageFiles* files, DoublewriteFile* doublewrite,
              const WriterSlots& slots);

  /// Called when free frames run low. Set before the pool is used by several threads.
  void SetWakeEvictor(std::function<void()> wake) { wake_evictor_ = std::move(wake); }

  /// A latched frame in state loading. kStopped when only unwritable pages are left; kOutOfMemory
  /// when all pages stayed in use for unreasonably long.
  Result<Frame*> Take();
  /// Without writing or waiting; nullptr if none is available.
  Frame* TryTake();

 private:
  struct SharedWriter {
    SharedWriter(FrameTable* frames, PageFiles* files, DoublewriteFile* doublewrite, uint32_t slot)
        : writer(frames, files, doublewrite, slot) {
      writer.SetReason(FlushReason::kNoFreeFrame);
    }
    Mutex mutex{LatchRank::kFrameSupply};
    PageWriter writer ROWAN_GUARDED_BY(mutex);
  };

  /// Adds to `*dirty_seen`, as EvictClean.
  Frame* TakeOrEvict(uint64_t steps, uint64_t* dirty_seen);
  /// One that nobody uses, locked; if all are in use waits for the next in turn. The analysis has
  /// no words for an object that is returned locked: the caller asserts it.
  SharedWriter* LockWriter() ROWAN_NO_THREAD_ANALYSIS;
  /// Repeats Take's first steps; else nullptr, and `*written` dirty pages were written.
  Result<Frame*> TakeOrWrite(SharedWriter* shared, uint64_t* written) ROWAN_REQUIRES(shared->mutex);
  /// Writes some unlatched dirty pages. Sets `*written` to their number.
  Status WriteSome(PageWriter* writer, uint64_t* written);
  Result<Frame*> TakeSlow();
  /// Writes some dirty pages, unless all writers are in use.
  void TryWriteSome();

  FrameTable* const frames_;
  PageFiles* const files_;
  std::function<void()> wake_evictor_;
  std::vector<std::unique_ptr<SharedWriter>> writers_;
  std::atomic<uint32_t> next_writer_{0};
};

}  // namespace rowan
