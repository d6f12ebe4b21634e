// SPDX-License-Identifier: GPL-2.0-only
#include "engine/rows_ahead.h"

#include <algorithm>
#include <array>

namespace rowan {
namespace {

/// Look-ups to come whose leaves are asked for, and how many more are asked for at a time: a queue
/// that keeps a disk busy, and few reads in vain when the statement wants no more rows.
constexpr size_t kWindow = 32;
constexpr size_t kPortion = 16;
/// After so many entries whose rows were in the pool, others will be, too.
constexpr uint32_t kInThePoolMax = 128;
/// A read for each row that is wanted may be in vain.
constexpr uint32_t kPassedPerLookUp = 1;
constexpr uint32_t kEntriesLately = 64;

}  // namespace

bool RowsAhead::FewAreLookedUp(const Known& known) {
  if (known.batch != batch_) {
    batch_ = known.batch;
    asked_ = 0;
  } else if (known.position > position_) {
    passed_ += static_cast<uint32_t>(known.position - position_ - 1);
  }
  position_ = known.position;
  ++looked_up_;
  if (looked_up_ + passed_ > kEntriesLately) {
    looked_up_ /= 2;
    passed_ /= 2;
  }
  return passed_ > kPassedPerLookUp * (looked_up_ + 1);
}

void RowsAhead::Ask(BufferPool* pool, const Known& known, LeafOf leaf_of) {
  if (FewAreLookedUp(known)) return;
  const size_t window = std::clamp<size_t>(pool->PrefetchPagesMax(), 1, kWindow);
  const size_t first = std::max(asked_, known.position + 1);
  const size_t end = std::min(known.size, known.position + 1 + window);
  if (end < first + std::min(kPortion, window) && end != known.size) return;
  std::array<PageId, kWindow> absent;
  size_t count = 0;
  for (size_t position = first; position < end; ++position) {
    const PageId leaf = leaf_of(position);
    ++in_the_pool_;
    if (leaf.page == kNoPage || pool->IsResident(leaf)) continue;
    in_the_pool_ = 0;
    absent[count++] = leaf;
  }
  asked_ = std::max(asked_, end);
  if (count != 0) pool->Prefetch({absent.data(), count});
  active_ = in_the_pool_ <= kInThePoolMax;
}

}  // namespace rowan
