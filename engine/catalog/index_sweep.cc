// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/index_sweep.h"

#include <bit>
#include <span>
#include <utility>
#include <vector>

#include "buffer/mini_txn.h"
#include "buffer/page/page_header.h"

namespace rowan {
namespace {

constexpr uint32_t kFreeGroupBytes = 256;
/// Prefetched: a device gets this many requests at a time.
constexpr size_t kPagesPerBatch = 32;

bool BelongsTo(const std::byte* page, IndexId index) {
  return PageTypeOf(page) == PageType::kTreeNode && PageIndexOf(page) == index;
}

/// kNotFound: it is not the index's, or damaged, and then lost whatever it belonged to.
Result<PageGuard> FixIfOf(PageAllocator* allocator, PageId id, IndexId index, LatchMode mode) {
  Result<PageGuard> page = allocator->FixInUse(id, mode);
  if (page.status().Is(Code::kCorrupt) || (page.ok() && !BelongsTo(page->page(), index))) {
    return Status(Code::kNotFound);
  }
  return page;
}

Status FreeIfOf(PageAllocator* allocator, PageId id, IndexId index) {
  // Shared first: most pages are others', whose optimistic readers should not have to begin again.
  const Status seen = FixIfOf(allocator, id, index, LatchMode::kShared).status();
  if (!seen.ok()) return seen;
  MiniTxn mini_txn(allocator->pool());
  Status status = mini_txn.Start(kFreeGroupBytes);
  if (!status.ok()) return status;
  Result<PageGuard> found = FixIfOf(allocator, id, index, LatchMode::kExclusive);
  if (!found.ok()) return found.status();
  const MutablePage page = mini_txn.Adopt(std::move(*found));
  status = allocator->Free(&mini_txn, id);
  if (!status.ok()) return status;
  mini_txn.DiscardAtCommit(page);
  mini_txn.Commit();
  return Status::Ok();
}

/// Iterates over the pages of a bitmap in batches.
class PagesInUse {
 public:
  PagesInUse(std::span<const uint64_t> allocated, PageNumber first)
      : allocated_(allocated), word_(first.value() / 64) {
    if (word_ < allocated_.size()) left_ = allocated_[word_] & (~uint64_t{0} << first.value() % 64);
  }

  /// False: there are no more.
  bool Next(SpaceId space, std::vector<PageId>* batch) {
    batch->clear();
    while (batch->size() < kPagesPerBatch && word_ < allocated_.size()) {
      if (left_ == 0) {
        ++word_;
        if (word_ < allocated_.size()) left_ = allocated_[word_];
        continue;
      }
      const auto bit = static_cast<uint32_t>(std::countr_zero(left_));
      batch->push_back({space, PageNumber(static_cast<uint32_t>(word_ * 64) + bit)});
      left_ &= left_ - 1;
    }
    return !batch->empty();
  }

 private:
  const std::span<const uint64_t> allocated_;
  size_t word_;
  uint64_t left_ = 0;  ///< of the word
};

}  // namespace

Status FreePagesOf(PageAllocator* allocator, SpaceId space, IndexId index, PageNumber* position,
                   WorkBudget* budget) {
  std::vector<uint64_t> allocated;
  const Result<uint32_t> used = allocator->CheckSpace(space, &allocated);
  if (!used.ok()) return used.status();
  std::vector<PageId> batch;
  PagesInUse pages(allocated, *position);
  while (pages.Next(space, &batch)) {
    allocator->pool()->Prefetch(batch);
    for (const PageId id : batch) {
      const Status status = FreeIfOf(allocator, id, index);
      if (!status.ok() && !status.Is(Code::kNotFound)) return status;
      *position = PageNumber(id.page.value() + 1);
      if (!budget->Spend()) return Status(Code::kBusy, "the rest of an index is freed later");
    }
  }
  return Status::Ok();
}

}  // namespace rowan
