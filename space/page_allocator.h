// SPDX-License-Identifier: GPL-2.0-only
// PageAllocator: which pages of a tablespace are in use. One bit per page in bitmap pages at fixed
// positions; page 0 is the space header. Trees take pages near the one they grow from, and whole 1
// MiB extents once they are large (the affinity is kept only in memory).
//
// Reserve before latching, allocate under latches: Reserve ensures that the file has room (it may
// extend the file, which is I/O); Allocate then only changes bitmap bits inside the
// mini-transaction. A freed page may be allocated again at once: reuse always starts with an
// initialising record. Latch order: the space header and bitmap pages come after all tree and undo
// pages. A mini-transaction latches at most one bitmap page: it either allocates from one
// reservation, or frees one page, or several that are known to share a bitmap page.
// Thread safety: all members.
#pragma once

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/mutex.h"
#include "base/status.h"
#include "buffer/buffer_pool.h"
#include "buffer/mini_txn.h"
#include "space/space_free_map.h"
#include "space/space_pages.h"

namespace rowan {

class PageAllocator;

/// Pages promised to one caller; unused ones are returned on destruction.
class PageReservation {
 public:
  PageReservation() = default;
  PageReservation(PageAllocator* allocator, SpaceId space, uint32_t pages, uint32_t group = 0)
      : allocator_(allocator), space_(space), pages_(pages), group_(group) {}
  PageReservation(PageReservation&& other) noexcept;
  PageReservation& operator=(PageReservation&& other) noexcept;
  ~PageReservation();
  [[nodiscard]] uint32_t pages() const { return pages_; }
  [[nodiscard]] SpaceId space() const { return space_; }

 private:
  friend class PageAllocator;
  PageAllocator* allocator_ = nullptr;
  SpaceId space_;
  uint32_t pages_ = 0;
  uint32_t group_ = 0;  ///< of the bitmap page that has them: a reservation latches only one
};

struct SpaceStatistics {
  uint32_t file_pages = 0;
  uint32_t used_pages = 0;
};

class PageAllocator {
 public:
  PageAllocator(BufferPool* pool, const InstanceId& instance_id)
      : pool_(pool), instance_id_(instance_id) {}

  /// Creates file, header and first bitmap page; the file is durable, its pages are logged. A
  /// temporary space is neither durable nor logged. `folder`: where the file is to lie instead of
  /// in the instance folder; made if missing (io/placed_file.h).
  Status CreateSpace(SpaceId space, const std::string& folder = {});
  /// Checks the header (instance id, page size, format) and reads the counters. kCorrupt,
  /// kNewerFormat, kInvalidArgument (belongs to another instance), kNotFound (no file).
  Status OpenSpace(SpaceId space);
  /// Forgets a space whose file is being dropped: logs kSpaceDropped durably, marks the space dead,
  /// renames the file to trash, forgets its frames. For a temporary space only the last three, and
  /// the file is unlinked.
  Status DropSpace(SpaceId space);
  /// Takes the space out of the instance and keeps its file under the name `path`. REQUIRES:
  /// nothing uses it, and a checkpoint has followed its last change: the log has no records of it.
  Status SetAsideSpace(SpaceId space, const std::string& path);

  /// kNoSpace when the disk is full. No latch may be held.
  Result<PageReservation> Reserve(SpaceId space, uint32_t pages, PageUse use = PageUse::kOrdinary);
  /// Takes one page; `near` = 0 or the page whose neighbourhood is preferred. Latches bitmap pages
  /// in `mini_txn`. Never fails within a reservation except kIoError/kCorrupt/kStopped.
  Result<PageNumber> Allocate(MiniTxn* mini_txn, PageReservation* reservation, PageNumber near);
  /// As Allocate, and fixes the page for its first contents. If that fails the page is freed:
  /// `mini_txn` then has changes that the caller commits, and nothing refers to the page.
  Result<MutablePage> AllocateNew(MiniTxn* mini_txn, PageReservation* reservation, PageNumber near);
  Status Free(MiniTxn* mini_txn, PageId page);

  /// An 8-byte counter in the space header (the table's AUTO_INCREMENT high-water mark).
  Result<uint64_t> ReadCounter(SpaceId space);
  /// In a mini-transaction of its own; not durable by itself.
  Status WriteCounter(SpaceId space, uint64_t value);

  /// Records in the space's header that these features are in use, too. In a mini-transaction of
  /// its own, logged before anything the caller logs next; not durable by itself.
  Status UseFeatures(SpaceId space, const FormatFeatures& features);

  Result<SpaceStatistics> Statistics(SpaceId space);
  /// For the undo space: gives free extents beyond `keep_pages` free pages back to the file system,
  /// at most `extents_max`, and returns how many. They are taken back before the file grows.
  /// kUnsupported where the file system cannot make holes. Waits for the log.
  Result<uint32_t> GiveBack(SpaceId space, uint32_t keep_pages, uint32_t extents_max);
  /// True if the page's bit is set. For checks. Damage of the bitmap is not logged if the hint is
  /// speculative.
  Result<bool> IsAllocated(PageId page, FixHint hint = FixHint::kNormal);
  /// How many pages have a bit: none while the space is being created, whose file comes before its
  /// first pages; fewer than the file has when it grows, which comes before the next bitmap page.
  /// Damage of the header is not logged.
  Result<uint32_t> PagesWithBits(SpaceId space);
  /// Fixes a page that others may be freeing, or have freed; kNotFound if it is free. It was in use
  /// when it was latched, so what it holds is its owner's and no older image from disk. Damage is
  /// logged only if the page is in use: one that was freed before it was ever written reads as
  /// zeros. Latch order: that of the page and then its bitmap page.
  Result<PageGuard> FixInUse(PageId page, LatchMode mode = LatchMode::kShared);
  /// Checks header and bitmap pages; returns the number of allocated pages. `allocated`, if given,
  /// gets a bit per page, the lowest of each word first.
  Result<uint32_t> CheckSpace(SpaceId space, std::vector<uint64_t>* allocated = nullptr);

  [[nodiscard]] BufferPool* pool() const { return pool_; }

 private:
  friend class PageReservation;
  Status LogDrop(SpaceId space);
  /// Changes a field of the space header, `size` bytes at `offset`, in a mini-transaction.
  Status WriteHeader(SpaceId space, size_t offset, size_t size,
                     FunctionRef<void(std::byte* field)> change);
  void ReturnReservation(SpaceId space, uint32_t group, uint32_t pages);
  /// Finds the map or makes one.
  std::shared_ptr<SpaceFreeMap> MapOf(SpaceId space);
  /// Null if there is none.
  std::shared_ptr<SpaceFreeMap> FindMap(SpaceId space);
  void ForgetMap(SpaceId space);
  Status MakeFirstPages(SpaceId space);

  /// A name that no other instance uses, since several may be given the same folder.
  [[nodiscard]] std::string PlaceIn(const std::string& folder, SpaceId space) const;
  /// The bitmap page that has the page's bit, latched shared.
  Result<PageGuard> FixBitmapOf(PageId page, FixHint hint = FixHint::kNormal);
  [[nodiscard]] bool IsSetIn(const PageGuard& bitmap, PageId page) const;
  /// Latches the page, as it was found or, if it could not be read, by reading it again, while it
  /// can be neither freed nor allocated. Damage is logged. kNotFound: it is free; kRestart: another
  /// thread holds it, or has changed or read it since.
  Result<PageGuard> FixUnderBitmap(PageId page, LatchMode mode, const OptimisticPage* found);

  BufferPool* const pool_;
  const InstanceId instance_id_;
  SharedMutex mutex_{LatchRank::kSpaceTable};
  /// Each lives for as long as it is used.
  std::unordered_map<SpaceId, std::shared_ptr<SpaceFreeMap>> maps_ ROWAN_GUARDED_BY(mutex_);
  std::set<SpaceId> being_created_ ROWAN_GUARDED_BY(mutex_);
};

/// Registers the redo functions of this folder.
void RegisterSpaceRedo();

}  // namespace rowan
