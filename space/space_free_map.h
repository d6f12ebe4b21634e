// SPDX-License-Identifier: GPL-2.0-only
// What PageAllocator keeps in memory for one open space: file size, free and promised pages of each
// group, and hints on where to search. Counts are loaded from the bitmap pages at first use and
// follow every bit change, which happens under the bitmap page's exclusive latch.
//
// In a space that gives back free extents, a wholly free extent may be withheld: none of its pages
// are handed out. It is a hole in the file or, after a restart, may be one. Withheld extents count
// as room beyond the end of the file: before they are used, the file system is asked for the space,
// so a full disk fails a reservation, never the write of a page.
//
// Some free pages are kept in reserve, so that trees find whole extents instead of each other's
// gaps, and for rollback: when the file cannot grow, ordinary work gets none of them, while
// rollback can still put longer rows back into leaves that others have filled since. A rollback
// splits at most one node per level for a record, and frees pages as it removes entries. Once the
// file can grow again, the next reservation replaces what was used.
//
// Locks: `growth` is held while the file grows or counts are loaded (I/O, log waits), never while a
// page latch is held; `mutex` only for a few instructions, even under page latches.
// Order: growth -> page latches -> mutex.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"

namespace rowan {

/// What a page is for.
enum class PageUse : uint8_t {
  kOrdinary,
  kRollback,  ///< may also use the pages in reserve
};

class SpaceFreeMap {
 public:
  /// `gives_back`: GiveBack will be called.
  SpaceFreeMap(BufferPool* pool, SpaceId space, bool gives_back)
      : pool_(pool), space_(space), gives_back_(gives_back) {}

  /// Promises `pages` pages of one group; extends the file if needed. Returns the group.
  Result<uint32_t> Reserve(uint32_t pages, PageUse use);
  void Return(uint32_t group, uint32_t pages);

  /// Where to look for a free page of a group.
  struct SearchHints {
    uint32_t limit = 0;        ///< bits below it belong to pages of the file
    uint32_t first_clear = 0;  ///< no clear bit below it
    uint32_t extent = 0;       ///< no clear extent below it
    bool any_withheld = false;
  };
  SearchHints Hints(uint32_t group);
  /// REQUIRES: bitmap latched exclusively.
  [[nodiscard]] bool IsWithheld(uint32_t group, uint32_t bit);
  /// After bits changed, bitmap latched exclusively. `promised`: within a reservation.
  void Taken(uint32_t group, uint32_t bit, bool promised);
  void NoExtentBelow(uint32_t group, uint32_t bit);
  void Freed(uint32_t group, uint32_t bit);

  /// File size and set bits. Loads them if needed.
  Status Counts(uint32_t* file_pages, uint32_t* used_pages);

  /// Turns free extents into holes, highest first, while more than `keep_pages` free pages remain;
  /// at most `extents_max`. Returns how many it made. kUnsupported: do not call again.
  Result<uint32_t> GiveBack(uint32_t keep_pages, uint32_t extents_max);

 private:
  enum class ExtentUse : uint8_t { kUsable, kMaybeHole, kHole };  // withheld except kUsable
  struct Group {
    uint32_t clear = 0;     ///< clear bits of pages in the file, outside withheld extents
    uint32_t promised = 0;  ///< of those
    SearchHints hints;
    std::vector<ExtentUse> extents;  ///< empty: all kUsable
  };
  struct ExtentPlace {
    uint32_t group = 0;
    uint32_t extent = 0;
  };

  Status LoadLocked() ROWAN_REQUIRES(growth_);
  Status GrowLocked(uint32_t pages) ROWAN_REQUIRES(growth_);
  Status AddGroupLocked() ROWAN_REQUIRES(growth_);
  /// Puts some withheld extents back into use; false if there are none.
  Result<bool> RefillLocked() ROWAN_REQUIRES(growth_);
  void WithholdFree(Bytes bitmap, Group* state) const;
  /// Withholds up to `count` wholly free extents, highest first, while `keep_pages` stay.
  Status ChooseHolesLocked(uint32_t keep_pages, uint32_t count, std::vector<ExtentPlace>* chosen)
      ROWAN_REQUIRES(growth_);
  void SetUse(Group* group, uint32_t extent, ExtentUse use) const;
  [[nodiscard]] PageId FirstPage(ExtentPlace place) const;
  /// Promises pages of a group in which at least `kept` stay free.
  [[nodiscard]] bool FindGroup(uint32_t pages, uint32_t kept, uint32_t* group);
  [[nodiscard]] uint32_t PagesKept();
  [[nodiscard]] uint32_t page_size() const { return pool_->page_size_bytes(); }

  BufferPool* const pool_;
  const SpaceId space_;
  const bool gives_back_;
  Mutex growth_{LatchRank::kSpaceGrowth};
  Mutex mutex_{LatchRank::kSpaceCounts};
  std::atomic<bool> loaded_{false};  ///< set under growth_ once all groups are counted
  /// Grows only with growth_ held as well.
  std::vector<Group> groups_ ROWAN_GUARDED_BY(mutex_);
  uint32_t file_pages_ ROWAN_GUARDED_BY(mutex_) = 0;
  uint32_t withheld_pages_ ROWAN_GUARDED_BY(mutex_) = 0;
};

}  // namespace rowan
