// SPDX-License-Identifier: GPL-2.0-only
#include "engine/index_sweep.h"

#include <bit>
#include <vector>

#include "buffer/mini_txn.h"
#include "buffer/page/page_header.h"

namespace rowan {
namespace {

constexpr uint32_t kFreeGroupBytes = 256;

bool BelongsTo(const std::byte* page, IndexId index) {
  return PageTypeOf(page) == PageType::kTreeNode && PageIndexOf(page) == index;
}

Status FreeIfOf(PageAllocator* allocator, PageId id, IndexId index) {
  BufferPool* pool = allocator->pool();
  {
    Result<PageGuard> page = allocator->FixInUse(id);
    const Status status = page.status();
    // Freed by somebody else meanwhile, or damaged: then it is lost, whosever it was.
    if (status.Is(Code::kNotFound) || status.Is(Code::kCorrupt)) return Status::Ok();
    if (!status.ok()) return status;
    if (!BelongsTo(page->page(), index)) return Status::Ok();
  }
  MiniTxn mini_txn(pool);
  Status status = mini_txn.Start(kFreeGroupBytes);
  if (!status.ok()) return status;
  Result<MutablePage> page = mini_txn.Fix(id);
  if (!page.ok()) return page.status();
  // Freed and taken by somebody else meanwhile?
  if (!BelongsTo(page->bytes, index)) return Status::Ok();
  status = allocator->Free(&mini_txn, id);
  if (!status.ok()) return status;
  mini_txn.DiscardAtCommit(*page);
  mini_txn.Commit();
  return Status::Ok();
}

}  // namespace

Status FreePagesOf(PageAllocator* allocator, SpaceId space, IndexId index) {
  std::vector<uint64_t> allocated;
  const Result<uint32_t> used = allocator->CheckSpace(space, &allocated);
  if (!used.ok()) return used.status();
  for (size_t word = 0; word < allocated.size(); ++word) {
    for (uint64_t left = allocated[word]; left != 0; left &= left - 1) {
      const auto bit = static_cast<uint32_t>(std::countr_zero(left));
      const PageNumber number(static_cast<uint32_t>(word * 64) + bit);
      const Status status = FreeIfOf(allocator, {space, number}, index);
      if (!status.ok()) return status;
    }
  }
  return Status::Ok();
}

}  // namespace rowan
