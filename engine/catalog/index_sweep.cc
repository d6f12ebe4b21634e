// SPDX-License-Identifier: GPL-2.0-only
#include "engine/catalog/index_sweep.h"

#include <bit>
#include <span>
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

Status FreeIfOf(PageAllocator* allocator, PageId id, IndexId index) {
  BufferPool* pool = allocator->pool();
  {
    Result<PageGuard> page = allocator->FixInUse(id);
    const Status status = page.status();
    // Freed by another thread meanwhile, or damaged: then it is lost, whatever it belonged to.
    if (status.Is(Code::kNotFound) || status.Is(Code::kCorrupt)) return Status::Ok();
    if (!status.ok()) return status;
    if (!BelongsTo(page->page(), index)) return Status::Ok();
  }
  MiniTxn mini_txn(pool);
  Status status = mini_txn.Start(kFreeGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(id);
  if (!page.ok()) return page.status();
  // Freed and reused meanwhile?
  if (!BelongsTo(page->bytes, index)) return Status::Ok();
  status = allocator->Free(&mini_txn, id);
  if (!status.ok()) return status;
  mini_txn.DiscardAtCommit(*page);
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
      if (!status.ok()) return status;
      *position = PageNumber(id.page.value() + 1);
      if (!budget->Spend()) return Status(Code::kBusy, "the rest of an index is freed later");
    }
  }
  return Status::Ok();
}

}  // namespace rowan
