// SPDX-License-Identifier: GPL-2.0-only
// BlobStore: values too large for their row, as chains of pages in the table's space. A blob is
// immutable from its completion until it is freed; each page is logged in its own mini-transaction,
// so a blob of any size needs little log reservation.
// Crash rule: the caller's undo record is written in the same mini-transaction as the first page,
// and later pages are linked to the chain in the group that allocates them, so everything that
// exists of a half-written blob is reachable from the undo record and freed by rollback.
// Thread safety: all members; readers need no lock because a visible blob never changes.
#pragma once

#include <atomic>
#include <cstdint>
#include <vector>

#include "base/bytes.h"
#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "base/work_budget.h"
#include "space/page_allocator.h"

namespace rowan {

/// What a row stores for an off-page value; 16 bytes on disk:
///   offset size
///   0      4    space
///   4      4    first page
///   8      4    size of the value, 4 GiB minus 1 at most
///   12     4    birth
struct BlobRef {
  SpaceId space;
  PageNumber first_page;
  uint64_t size_bytes = 0;
  /// Distinguishes this blob from a later one on the same pages, so that freeing twice is harmless.
  uint32_t birth = 0;
};
inline constexpr uint64_t kBlobBytesMax = UINT32_MAX;
inline constexpr size_t kBlobRefBytes = 16;
void StoreBlobRef(std::byte* target, const BlobRef& ref);
BlobRef LoadBlobRef(const std::byte* source);

class BlobStore {
 public:
  explicit BlobStore(PageAllocator* allocator) : allocator_(allocator) {}
  [[nodiscard]] BufferPool* pool() const { return allocator_->pool(); }

  /// Called inside the first page's mini-transaction to write the undo record.
  using LogUndo = FunctionRef<Status(MiniTxn*, const BlobRef&)>;
  /// kInterrupted: the flag, if given, was found set between two pages; Read returns it too. Free
  /// then frees the part of the value that was written.
  using Interrupted = const std::atomic<bool>*;
  Result<BlobRef> Write(SpaceId space, Bytes value, LogUndo log_undo,
                        Interrupted interrupted = nullptr);
  /// Reads bytes [offset, offset + target.size()).
  Status Read(const BlobRef& ref, uint64_t offset, MutableBytes target,
              Interrupted interrupted = nullptr);
  /// Reads the first `target.size()` bytes of a value that may be freed concurrently: kNotFound
  /// when it is not there (any more). Does not report damage; Read does.
  Status TryRead(const BlobRef& ref, MutableBytes target);
  /// Frees the chain page by page from the first; safe to repeat after a crash because each step
  /// re-links. Ok if `first_page` is already free (not allocated). Each page but one costs a step
  /// of the budget; kBusy when it is used up: the rest is a chain that another Free continues.
  Status Free(const BlobRef& ref, WorkBudget* budget);
  Status Free(const BlobRef& ref) {
    WorkBudget all(UINT64_MAX);
    return Free(ref, &all);
  }
  Status Check(const BlobRef& ref);
  /// Calls `visit` for each page of the chain, as long as it exists and belongs to the blob.
  /// kInterrupted: `visit` returned false.
  Status VisitPages(const BlobRef& ref, FunctionRef<bool(PageNumber)> visit);

 private:
  /// kNotFound: `*id` is not the page that the chain should have there.
  struct ReadManner {
    FixHint hint;
    Interrupted interrupted = nullptr;
  };
  Status ReadChain(const BlobRef& ref, uint64_t offset, MutableBytes target, ReadManner manner,
                   PageId* id);
  Status WriteOnePage(MiniTxn* mini_txn, PageReservation* reservation, BlobRef* ref,
                      uint32_t position, PageNumber* previous, Bytes data, LogUndo log_undo);
  Status FillNewPage(MiniTxn* mini_txn, PageId id, BlobRef* ref, uint32_t position, Bytes data,
                     LogUndo log_undo);
  Status FreeOnePage(MiniTxn* mini_txn, const BlobRef& ref, bool* done);

  PageAllocator* const allocator_;
};

}  // namespace rowan
