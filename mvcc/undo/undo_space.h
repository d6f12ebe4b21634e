// SPDX-License-Identifier: GPL-2.0-only
// UndoSpace: the pages of the undo space and its directory of streams: fixing, checking, changing
// and logging them. Knows no transaction. Pages of one chain are latched in chain order, then the
// directory page, then pages of the space's free map.
// Thread safety: all members, after Create or LoadDirectory.
#pragma once

#include <cstdint>
#include <utility>
#include <vector>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/mini_txn.h"
#include "mvcc/undo/undo_page.h"
#include "space/page_allocator.h"

namespace rowan {

/// Concurrent writing transactions at most; each idle stream costs one page.
inline constexpr uint32_t kUndoStreamsMax = 16384;
/// Log bytes of a group that initialises, links and allocates one undo page, generously.
inline constexpr uint32_t kUndoPageGroupBytes = 1024;
/// Log bytes of a group that changes a few bytes of two undo pages.
inline constexpr uint32_t kUndoStateGroupBytes = 512;

class UndoSpace {
 public:
  UndoSpace(PageAllocator* allocator, SpaceId space)
      : allocator_(allocator), pool_(allocator->pool()), space_(space) {}

  /// Creates the space and its directory.
  Status Create();
  /// Reads the directory of an existing one: all streams, in order of their numbers.
  Status LoadDirectory(std::vector<std::pair<uint32_t, DirectorySlot>>* slots);
  [[nodiscard]] const std::vector<PageNumber>& directory() const { return directory_; }

  /// The page, already fixed by the mini-transaction or fixed now. kCorrupt with a logged sentence.
  Result<MutablePage> Fix(MiniTxn* mini_txn, PageNumber page) const;
  /// The same, quickly if it is `left` and did not change since.
  Result<MutablePage> Fix(MiniTxn* mini_txn, PageNumber page, const OptimisticPage& left) const;
  /// Shared latch and a page of the right shape, or kCorrupt with a logged sentence.
  Result<PageGuard> FixShared(PageNumber page) const;
  /// The directory page of a stream.
  Result<MutablePage> FixDirectory(MiniTxn* mini_txn, uint32_t stream) const;

  /// Initialises and logs a page of a stream.
  void InitPage(MiniTxn* mini_txn, const MutablePage& page, UndoPlace place,
                const UndoSummary& summary) const;
  static void SetLinks(MiniTxn* mini_txn, const MutablePage& page, PageNumber previous,
                       PageNumber next);
  static void SetBytes(MiniTxn* mini_txn, const MutablePage& page, uint16_t offset, Bytes bytes);
  [[nodiscard]] DirectorySlot SlotIn(const MutablePage& page, uint32_t stream) const;
  void SetSlot(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream,
               const DirectorySlot& slot) const;
  void SetTail(MiniTxn* mini_txn, const MutablePage& page, uint32_t stream, PageNumber tail) const;

  /// Logs what is wrong with the page; kCorrupt.
  [[nodiscard]] Status Damage(PageNumber page, const char* what) const;

  [[nodiscard]] PageAllocator* allocator() const { return allocator_; }
  [[nodiscard]] BufferPool* pool() const { return pool_; }
  [[nodiscard]] SpaceId id() const { return space_; }
  [[nodiscard]] PageId IdOf(PageNumber page) const { return {space_, page}; }
  [[nodiscard]] size_t page_size() const { return pool_->page_size_bytes(); }

 private:
  PageAllocator* const allocator_;
  BufferPool* const pool_;
  const SpaceId space_;
  std::vector<PageNumber> directory_;  ///< fixed once created or loaded
};

}  // namespace rowan
