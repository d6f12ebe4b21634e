// SPDX-License-Identifier: GPL-2.0-only
// PageWriter: takes copies of dirty pages and writes them in batches: log durable up to the largest
// page LSN of the batch -> doublewrite segment, synced -> pages home -> frames clean.
//
// Invariants:
//   1. a copy is taken under the shared latch and no latch is held across I/O;
//   2. at most one copy of a page is in flight (Frame::io_in_progress), so an old image never lands
//      on a newer one;
//   3. a page changed since its copy stays dirty from the LSN noted at copy time, never clean;
//   4. frames become clean when the pages are with the kernel, not yet durable: SyncTracker knows
//      what a checkpoint must sync, and the doublewrite segment is kept until then.
// A thread that has copies in a writer must Flush before it waits for any latch: others may need
// the frames. Thread safety: one thread at a time.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "buffer/doublewrite.h"
#include "buffer/pool_core.h"
#include "io/aligned_buffer.h"
#include "io/write_batch.h"

namespace rowan {

class PageWriter {
 public:
  /// `slot` numbers the writers of a pool; it determines the doublewrite segments.
  PageWriter(PoolCore* core, DoublewriteFile* doublewrite, uint32_t slot);

  static constexpr uint32_t kSegmentsPerWriter = 2;

  enum class Added {
    kYes,
    kClean,  ///< nothing to write
    kBusy,   ///< latched by a writer, or another copy is in flight
  };
  /// REQUIRES: not full.
  Added TryAdd(Frame* frame);
  /// Waits for the latch. REQUIRES: empty, and the caller holds no latch.
  Added AddWaiting(Frame* frame);

  [[nodiscard]] bool empty() const { return entries_.empty(); }
  [[nodiscard]] bool full() const { return entries_.size() >= capacity_; }
  [[nodiscard]] uint64_t pages_written() const { return pages_written_; }

  /// Writes everything added. On failure the engine is stopped and kStopped returned.
  Status Flush();

 private:
  struct Entry {
    Frame* frame = nullptr;
    PageId id;
    uint64_t dirty = 0;  ///< first_dirty_lsn at copy time, without kCopiedBit
    uint64_t noted = 0;  ///< log tail at copy time: later changes are at or above
    SpaceFiles::Location location;
  };

  Added CopyShared(Frame* frame);
  std::byte* ImageAt(size_t position);
  Status MakeLogDurable();
  Status WriteDoublewrite();
  Status WriteHome();
  void FinishEntries(bool written);

  PoolCore* const core_;
  DoublewriteFile* const doublewrite_;
  const uint32_t first_segment_;
  const uint32_t capacity_;
  uint32_t next_segment_ = 0;
  bool used_segment_ = false;  ///< the batch in progress went through the doublewrite file
  uint64_t max_lsn_ = 0;
  uint64_t pages_written_ = 0;
  std::vector<Entry> entries_;
  std::vector<PageId> page_ids_;
  AlignedBuffer buffer_;  ///< directory page, then images
  std::unique_ptr<WriteBatch> batch_;
};

}  // namespace rowan
