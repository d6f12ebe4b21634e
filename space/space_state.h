// SPDX-License-Identifier: GPL-2.0-only
// What PageAllocator keeps in memory for one open space: file size, free and promised pages of each
// group, and hints where to search. Counts are made from the bitmap pages at first use and follow
// every bit change, which happens under the bitmap page's exclusive latch.
//
// Locks: `growth` is held while the file grows or counts are loaded (I/O, log waits), never while a
// page latch is held; `mutex` only for a few instructions, also under page latches.
// Order: growth -> page latches -> mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "base/ids.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"

namespace rowan {

class SpaceState {
 public:
  SpaceState(BufferPool* pool, SpaceId space) : pool_(pool), space_(space) {}

  /// Promises `pages` pages of one group; extends the file if needed. Returns the group.
  Result<uint32_t> Reserve(uint32_t pages);
  void Return(uint32_t group, uint32_t pages);

  /// Where to look for a free page of a group: pages of the file in it, and hints.
  struct SearchHints {
    uint32_t limit = 0;        ///< bits below belong to pages of the file
    uint32_t first_clear = 0;  ///< no clear bit below
    uint32_t extent = 0;       ///< no clear extent below
  };
  SearchHints Hints(uint32_t group);
  /// After bits changed, bitmap latched exclusively. `promised`: within a reservation.
  void Taken(uint32_t group, uint32_t bit, bool promised);
  void NoExtentBelow(uint32_t group, uint32_t bit);
  void Freed(uint32_t group, uint32_t bit);

  /// File size and set bits. Loads them if needed.
  Status Counts(uint32_t* file_pages, uint32_t* used_pages);

 private:
  struct Group {
    uint32_t clear = 0;     ///< clear bits of pages in the file
    uint32_t promised = 0;  ///< of those
    SearchHints hints;
  };

  Status LoadLocked();
  Status LoadGroupLocked(uint32_t group, uint32_t* end);
  Status GrowLocked(uint32_t pages);
  Status AddGroupLocked();
  [[nodiscard]] bool FindGroup(uint32_t pages, uint32_t slack, uint32_t* group);
  [[nodiscard]] uint32_t page_size() const { return pool_->page_size_bytes(); }

  BufferPool* const pool_;
  const SpaceId space_;
  std::mutex growth_;
  std::mutex mutex_;
  std::atomic<bool> loaded_{false};  ///< set under growth_ once all groups are counted
  // Guarded by mutex_; the number of groups grows only with growth_ held, too.
  std::vector<Group> groups_;
  uint32_t file_pages_ = 0;
};

}  // namespace rowan
