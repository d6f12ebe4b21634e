// SPDX-License-Identifier: GPL-2.0-only
// PageWriter: takes copies of dirty pages and writes them in batches: log durable up to the largest
// page LSN of the batch -> doublewrite segment, synced -> pages home -> frames clean.
//
// Invariants:
//   1. a copy is taken under the shared latch and no latch is held across I/O;
//   2. at most one copy of a page is in flight (Frame::io_in_progress), so an old image never lands
//      on a newer one;
//   3. a page changed since its copy stays dirty from the LSN noted at copy time, never clean;
//   4. frames become clean when the kernel has the pages, not yet durable: SyncTracker knows what a
//      checkpoint must sync, and the doublewrite segment is kept until then.
//   5. no page of a batch is sent home before the batch's segment is durable.
// Pages of temporary spaces travel in the same batches, but need neither log nor doublewrite file
// nor sync.
// Three batches overlap: one is on its way home, the next to its doublewrite segment, the third is
// being copied. With doublewrite off there is no middle one. A thread with copies in a writer must
// Flush before it waits for any latch: others may need the frames.
// Thread safety: one thread at a time; Flush before another takes over.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <vector>

#include "buffer/frame_table.h"
#include "buffer/page/doublewrite.h"
#include "buffer/page/flush_reason.h"
#include "buffer/page_files.h"
#include "io/aligned_buffer.h"
#include "io/write_batch.h"

namespace rowan {

class PageWriter {
 public:
  /// `slot` numbers the writers of a pool; it determines the doublewrite segments.
  PageWriter(FrameTable* frames, PageFiles* files, DoublewriteFile* doublewrite, uint32_t slot);

  /// Doublewrite segments of each writer. If there are more, one sync of the data files settles
  /// several; a small pool need not spend disk space on that. At least two, or the segment of the
  /// batch on its way home would be the next to be overwritten.
  static uint32_t SegmentsPerWriter(uint32_t frames) {
    return frames < 4096 ? 2 : (frames < 16384 ? 4 : 8);
  }

  /// Why pages added from now on are written. REQUIRES: nothing was added since Flush.
  void SetReason(FlushReason reason);

  enum class Added {
    kYes,
    kClean,  ///< nothing to write
    kBusy,   ///< latched by a writer, or another copy is in flight
  };
  /// REQUIRES: not full.
  Added TryAdd(Frame* frame);
  /// Waits for the latch. REQUIRES: nothing was added since Flush, and the caller holds no latch.
  Added AddWaiting(Frame* frame);

  /// Nothing was added since the last Push or Flush.
  [[nodiscard]] bool empty() const { return filling_->entries.empty(); }
  [[nodiscard]] bool full() const { return filling_->entries.size() >= capacity_; }
  [[nodiscard]] uint64_t pages_written() const { return pages_written_; }

  /// Starts writing what was added; the caller goes on adding. On failure stops the engine and
  /// returns kStopped, like Flush.
  Status Push();
  /// Writes everything added and pushed, and waits for it.
  Status Flush();

 private:
  struct Entry {
    Frame* frame = nullptr;
    PageId id;
    Lsn dirty;          ///< first_dirty_lsn at copy time, without kCopiedBit
    Lsn noted;          ///< later changes are at or above: the log tail at copy time
    size_t slot = 0;    ///< of its image
    bool sent = false;  ///< sent home; false if the space is dead
    SpaceFiles::Location location;
  };

  struct Batch {
    std::vector<Entry> entries;
    /// Pages of temporary spaces from the end backwards, the others contiguously from the front, as
    /// the doublewrite file needs them.
    AlignedBuffer images;
    uint32_t temporary = 0;  ///< entries that need neither log nor doublewrite nor sync
    Lsn max_lsn;
    uint32_t segment = 0;
    bool doublewritten = false;  ///< `segment` lists the pages
    Status submitted;            ///< first failure of sending pages home
  };

  void ReserveImages();
  Added CopyShared(Frame* frame);
  std::byte* ImageAt(const Batch& batch, size_t slot) const;
  [[nodiscard]] uint32_t NextSegment() const { return first_segment_ + next_segment_; }
  /// Creates the batch on first use.
  Result<WriteBatch*> Opened(std::unique_ptr<WriteBatch>* writes, uint32_t depth);
  /// Prepares the filled batch for the next stage.
  Status PrepareFilled(DoublewriteMode mode, bool doublewrite);
  Status MakeLogDurable();
  Status StartDoublewrite(DoublewriteMode mode);
  Status WaitDoublewritten();
  /// If a batch is in the middle: waits for it and the one before it, and sends it home.
  Status Advance();
  Status SendHome();
  /// Waits for what was sent of the flying batch and releases its files.
  Status ReleaseHandles();
  /// As SpaceFiles::Locate. While descriptors are short it releases those of this batch, and waits.
  Result<SpaceFiles::Location> LocateHome(PageId id);
  /// Waits for the batch on its way home and makes its frames clean.
  Status FinishFlying();
  Status Abort(Status failure);
  void EndBatch(Batch* batch, bool written);
  void NoteVersions(const Batch& batch);
  /// Between batches: follows a pool that was resized.
  void Refit();
  void EndEntry(const Entry& entry, bool written);

  FrameTable* const frames_;
  PageFiles* const files_;
  DoublewriteFile* const doublewrite_;
  const uint32_t segments_;
  const uint32_t first_segment_;
  uint32_t capacity_;
  /// Files of a batch that are held open at a time: all writers together leave half of the limit.
  const uint32_t files_max_;
  uint32_t next_segment_ = 0;
  uint64_t pages_written_ = 0;
  FlushReason reason_ = FlushReason::kCheckpoint;
  std::array<Batch, 3> batches_;
  Batch* filling_ = &batches_[0];
  Batch* doublewriting_ = &batches_[1];  ///< on its way to its segment; empty after Flush
  Batch* flying_ = &batches_[2];         ///< on its way home; empty after Flush
  std::vector<PageId> page_ids_;
  AlignedBuffer packed_;  ///< data on its way to a segment
  /// Held while a batch is under way, so the doublewrite mode does not change.
  WriteGatePass gate_;
  // Destroyed before the buffers that they may still be writing.
  std::unique_ptr<WriteBatch> home_writes_;
  std::unique_ptr<WriteBatch> doublewrites_;
};

}  // namespace rowan
