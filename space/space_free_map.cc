// SPDX-License-Identifier: GPL-2.0-only
#include "space/space_free_map.h"

#include <algorithm>
#include <optional>

#include "base/assertions.h"
#include "buffer/mini_txn.h"
#include "space/space_pages.h"
#include "wal/log.h"

namespace rowan {
namespace {

constexpr uint32_t kMiB = uint32_t{1} << 20;
/// Withheld extents put back into use at a time: as much as files of some size grow by.
constexpr uint32_t kRefillExtents = 4;

/// Kept ahead of ordinary work: two pages, which let a tree of one leaf grow, and this share of the
/// file, up to some extents.
constexpr uint32_t kKeptPagesMin = 2;
constexpr uint32_t kKeptShare = 16;
constexpr uint32_t kKeptExtentsMax = 4;
/// For undo, of which rollback needs no new pages; smaller files than this keep none.
constexpr uint32_t kUndoExtentsMin = 8;

}  // namespace

bool SpaceFreeMap::FindGroup(uint32_t pages, uint32_t kept, uint32_t* group) {
  const MutexLock lock(&mutex_);
  for (size_t i = groups_.size(); i-- > 0;) {  // the newest has most room
    Group& candidate = groups_[i];
    if (candidate.clear < candidate.promised + pages + kept) continue;
    candidate.promised += pages;
    *group = static_cast<uint32_t>(i);
    return true;
  }
  return false;
}

uint32_t SpaceFreeMap::PagesKept() {
  const MutexLock lock(&mutex_);
  const uint32_t extent = ExtentPages(page_size());
  if (gives_back_ && file_pages_ < kUndoExtentsMin * extent) return 0;
  return kKeptPagesMin + std::min(file_pages_ / kKeptShare, kKeptExtentsMax * extent);
}

Result<uint32_t> SpaceFreeMap::Reserve(uint32_t pages, PageUse use) {
  uint32_t group = 0;
  if (loaded_.load(std::memory_order_acquire) && FindGroup(pages, PagesKept(), &group)) {
    return group;
  }
  const MutexLock growth(&growth_);
  if (!loaded_.load(std::memory_order_relaxed)) {
    const Status status = LoadLocked();
    if (!status.ok()) return status;
  }
  while (!FindGroup(pages, PagesKept(), &group)) {
    const Status status = GrowLocked(pages);
    if (status.ok()) continue;
    // The pages kept ahead exist for this. Undo has no other use for them.
    const bool may_take = use == PageUse::kRollback || (gives_back_ && status.Is(Code::kNoSpace));
    if (may_take && FindGroup(pages, 0, &group)) return group;
    return status;
  }
  return group;
}

void SpaceFreeMap::Return(uint32_t group, uint32_t pages) {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(group < groups_.size() && groups_[group].promised >= pages);
  ROWAN_DCHECK(groups_[group].clear >= groups_[group].promised);
  groups_[group].promised -= pages;
}

SpaceFreeMap::SearchHints SpaceFreeMap::Hints(uint32_t group) {
  const MutexLock lock(&mutex_);
  ROWAN_CHECK(group < groups_.size());
  return groups_[group].hints;
}

bool SpaceFreeMap::IsWithheld(uint32_t group, uint32_t bit) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(group < groups_.size() && bit < GroupPages(page_size()));
  const std::vector<ExtentUse>& extents = groups_[group].extents;
  const uint32_t extent = bit / ExtentPages(page_size());
  return extent < extents.size() && extents[extent] != ExtentUse::kUsable;
}

void SpaceFreeMap::Taken(uint32_t group, uint32_t bit, bool promised) {
  const MutexLock lock(&mutex_);
  Group& state = groups_[group];
  ROWAN_CHECK(state.clear > 0 && (!promised || state.promised > 0));
  ROWAN_DCHECK(bit < state.hints.limit && bit >= state.hints.first_clear);
  --state.clear;
  if (promised) --state.promised;
  if (bit == state.hints.first_clear) ++state.hints.first_clear;
}

void SpaceFreeMap::NoExtentBelow(uint32_t group, uint32_t bit) {
  const MutexLock lock(&mutex_);
  ROWAN_DCHECK(group < groups_.size() && bit <= groups_[group].hints.limit + 1);
  groups_[group].hints.extent = bit;
}

void SpaceFreeMap::Freed(uint32_t group, uint32_t bit) {
  const MutexLock lock(&mutex_);
  if (group >= groups_.size()) return;  // not counted yet; will be, from the bitmap
  Group& state = groups_[group];
  ROWAN_DCHECK(bit < state.hints.limit && state.clear < state.hints.limit);
  ++state.clear;
  state.hints.first_clear = std::min(state.hints.first_clear, bit);
  const uint32_t extent = ExtentPages(page_size());
  state.hints.extent = std::min(state.hints.extent, bit / extent * extent);
}

Status SpaceFreeMap::Counts(uint32_t* file_pages, uint32_t* used_pages) {
  const MutexLock growth(&growth_);
  if (!loaded_.load(std::memory_order_relaxed)) {
    const Status status = LoadLocked();
    if (!status.ok()) return status;
  }
  const MutexLock lock(&mutex_);
  uint32_t clear = 0;
  for (const Group& group : groups_) clear += group.clear;
  *file_pages = file_pages_;
  ROWAN_DCHECK(clear + withheld_pages_ <= file_pages_);
  *used_pages = file_pages_ - clear - withheld_pages_;
  return Status::Ok();
}

Status SpaceFreeMap::LoadLocked() {
  Result<uint32_t> pages = pool_->files()->PageCount(space_);
  if (!pages.ok()) return pages.status();
  uint32_t bitmap_pages = 0;
  {
    Result<PageGuard> header = pool_->Fix({space_, PageNumber(0)}, LatchMode::kShared);
    if (!header.ok()) return header.status();
    bitmap_pages = LoadLe<uint32_t>(header->page() + space_layout::kBitmapPagesOffset);
  }
  if (bitmap_pages == 0) return Status(Code::kCorrupt, "space header without bitmap pages", 0);
  uint32_t file_pages = *pages;
  // A crash may have lost the file's new size, but not the bits of pages promised in it.
  Result<PageGuard> last =
      pool_->Fix({space_, BitmapPage(bitmap_pages - 1, page_size())}, LatchMode::kShared);
  if (!last.ok()) return last.status();
  const uint32_t used_end =
      (bitmap_pages - 1) * GroupPages(page_size()) + BitmapEnd({last->page(), page_size()});
  last->Release();
  if (used_end > file_pages) {
    const Status status = pool_->files()->Extend(space_, used_end);
    if (!status.ok()) return status;
    file_pages = used_end;
  }
  {
    const MutexLock lock(&mutex_);
    groups_.clear();
    file_pages_ = file_pages;
    withheld_pages_ = 0;
  }
  for (uint32_t group = 0; group < bitmap_pages; ++group) {
    Result<PageGuard> guard =
        pool_->Fix({space_, BitmapPage(group, page_size())}, LatchMode::kShared);
    if (!guard.ok()) return guard.status();
    const uint32_t first = group * GroupPages(page_size());
    const uint32_t limit =
        file_pages > first ? std::min(file_pages - first, GroupPages(page_size())) : 0;
    Group state;
    state.clear = limit - BitmapCount({guard->page(), page_size()}, limit);
    state.hints.limit = limit;
    if (gives_back_) WithholdFree({guard->page(), page_size()}, &state);
    const MutexLock lock(&mutex_);  // the latch keeps the bits unchanged until the group is counted
    for (const ExtentUse use : state.extents) {
      if (use != ExtentUse::kUsable) withheld_pages_ += ExtentPages(page_size());
    }
    groups_.push_back(state);
  }
  loaded_.store(true, std::memory_order_release);
  return Status::Ok();
}

Status SpaceFreeMap::GrowLocked(uint32_t pages) {
  const Result<bool> refilled = RefillLocked();
  if (!refilled.ok() || refilled.value()) return refilled.status();
  SpaceSize now;
  {
    const MutexLock lock(&mutex_);
    now = {file_pages_, static_cast<uint32_t>(groups_.size())};
  }
  const uint32_t pages_max = std::min(SpacePagesMax(page_size()), pool_->files()->pages_max());
  const std::optional<SpaceSize> next = PlanGrowth(now, pages, page_size(), pages_max);
  if (!next.has_value()) {
    return Status(Code::kNoSpace, "the tablespace has as many pages as it can have");
  }
  const Status status = pool_->files()->Extend(space_, next->file_pages);
  if (!status.ok()) return status;
  MutexLock lock(&mutex_);
  file_pages_ = next->file_pages;
  if (next->groups > now.groups) {
    lock.Unlock();
    return AddGroupLocked();
  }
  ROWAN_DCHECK(next->file_pages > now.file_pages);
  Group& last = groups_.back();
  last.clear += next->file_pages - now.file_pages;
  last.hints.limit = next->file_pages - (now.groups - 1) * GroupPages(page_size());
  return Status::Ok();
}

Status SpaceFreeMap::AddGroupLocked() {
  uint32_t group = 0;
  uint32_t file_pages = 0;
  {
    const MutexLock lock(&mutex_);
    group = static_cast<uint32_t>(groups_.size());
    file_pages = file_pages_;
  }
  MiniTxn mini_txn(pool_);
  Status status = mini_txn.Start(256);
  if (!status.ok()) return status;
  Result<MutablePage> header = mini_txn.Fix({space_, PageNumber(0)});
  if (!header.ok()) return header.status();
  const PageId id{space_, BitmapPage(group, page_size())};
  Result<MutablePage> bitmap = mini_txn.FixNew(id);
  if (!bitmap.ok()) return bitmap.status();
  StoreLe<uint32_t>(mini_txn.Log(RecordType::kSpaceBitmapInit, *bitmap, 4), group);
  InitBitmap({bitmap->bytes, page_size()}, id, group);
  std::byte* body = mini_txn.Log(RecordType::kSpaceHeader, *header, 6);
  StoreLe<uint16_t>(body, static_cast<uint16_t>(space_layout::kBitmapPagesOffset));
  StoreLe<uint32_t>(body + 2, group + 1);
  StoreLe<uint32_t>(header->bytes + space_layout::kBitmapPagesOffset, group + 1);
  Group state;
  state.hints.limit =
      std::min(file_pages - group * GroupPages(page_size()), GroupPages(page_size()));
  state.clear = state.hints.limit - 1;
  {
    const MutexLock lock(&mutex_);
    groups_.push_back(state);
  }
  mini_txn.Commit();
  return Status::Ok();
}

// Free extents that become holes of the file, and holes that are used again. Redo never needs what
// was in a hole: it is made when the freeing of its pages is durable, and a page that is taken
// again begins with an initialising record.

PageId SpaceFreeMap::FirstPage(ExtentPlace place) const {
  return {space_, PageNumber(place.group * GroupPages(page_size()) +
                             place.extent * ExtentPages(page_size()))};
}

void SpaceFreeMap::SetUse(Group* group, uint32_t extent, ExtentUse use) const {
  if (extent >= group->extents.size()) group->extents.resize(extent + 1, ExtentUse::kUsable);
  group->extents[extent] = use;
  const auto withheld = [](ExtentUse one) { return one != ExtentUse::kUsable; };
  group->hints.any_withheld = std::any_of(group->extents.begin(), group->extents.end(), withheld);
}

/// After a restart: which of the free extents are holes is not known.
void SpaceFreeMap::WithholdFree(Bytes bitmap, Group* state) const {
  const uint32_t extent = ExtentPages(page_size());
  const uint32_t limit = state->hints.limit;
  for (std::optional<uint32_t> bit = FirstClearExtent(bitmap, 0, limit); bit.has_value();
       bit = FirstClearExtent(bitmap, *bit + extent, limit)) {
    SetUse(state, *bit / extent, ExtentUse::kMaybeHole);
    ROWAN_DCHECK(state->clear >= extent);
    state->clear -= extent;
  }
}

Result<bool> SpaceFreeMap::RefillLocked() {
  const uint32_t extent_pages = ExtentPages(page_size());
  ExtentPlace first;
  uint32_t count = 0;
  {
    // The lowest ones, as long as they are neighbours.
    const MutexLock lock(&mutex_);
    for (; first.group < groups_.size() && count == 0; ++first.group) {
      const std::vector<ExtentUse>& extents = groups_[first.group].extents;
      const auto found = std::find_if(extents.begin(), extents.end(),
                                      [](ExtentUse use) { return use != ExtentUse::kUsable; });
      if (found == extents.end()) continue;
      first.extent = static_cast<uint32_t>(found - extents.begin());
      while (count < kRefillExtents && first.extent + count < extents.size() &&
             extents[first.extent + count] != ExtentUse::kUsable) {
        ++count;
      }
      break;
    }
  }
  if (count == 0) return false;
  const Status status = pool_->files()->Refill(FirstPage(first), count * extent_pages);
  if (!status.ok()) return status;
  const MutexLock lock(&mutex_);
  Group& group = groups_[first.group];
  for (uint32_t i = 0; i < count; ++i) SetUse(&group, first.extent + i, ExtentUse::kUsable);
  const uint32_t bit = first.extent * extent_pages;
  group.clear += count * extent_pages;
  group.hints.first_clear = std::min(group.hints.first_clear, bit);
  group.hints.extent = std::min(group.hints.extent, bit);
  ROWAN_DCHECK(withheld_pages_ >= count * extent_pages);
  ROWAN_DCHECK(group.clear <= group.hints.limit);
  withheld_pages_ -= count * extent_pages;
  return true;
}

Status SpaceFreeMap::ChooseHolesLocked(uint32_t keep_pages, uint32_t count,
                                       std::vector<ExtentPlace>* chosen) {
  const uint32_t extent_pages = ExtentPages(page_size());
  uint32_t groups = 0;
  {
    const MutexLock lock(&mutex_);
    groups = static_cast<uint32_t>(groups_.size());
  }
  for (uint32_t group = groups; group-- > 0 && chosen->size() < count;) {
    // Latched, so that no bit changes and nothing is allocated while extents are withheld.
    Result<PageGuard> bitmap =
        pool_->Fix({space_, BitmapPage(group, page_size())}, LatchMode::kShared);
    if (!bitmap.ok()) return bitmap.status();
    const Bytes bits(bitmap->page(), page_size());
    const MutexLock lock(&mutex_);
    Group& state = groups_[group];
    uint32_t free_pages = 0;
    for (const Group& any : groups_) free_pages += any.clear - any.promised;
    for (uint32_t extent = state.hints.limit / extent_pages;
         extent-- > 0 && chosen->size() < count;) {
      const ExtentUse use =
          extent < state.extents.size() ? state.extents[extent] : ExtentUse::kUsable;
      if (use == ExtentUse::kHole) continue;
      if (use == ExtentUse::kUsable) {
        if (free_pages < keep_pages + extent_pages || state.clear < state.promised + extent_pages) {
          continue;
        }
        const uint32_t bit = extent * extent_pages;
        if (FirstClearExtent(bits, bit, bit + extent_pages) != bit) continue;
        state.clear -= extent_pages;
        free_pages -= extent_pages;
        withheld_pages_ += extent_pages;
        SetUse(&state, extent, ExtentUse::kMaybeHole);
      }
      chosen->push_back({group, extent});
    }
  }
  return Status::Ok();
}

Result<uint32_t> SpaceFreeMap::GiveBack(uint32_t keep_pages, uint32_t extents_max) {
  const MutexLock growth(&growth_);
  if (!loaded_.load(std::memory_order_relaxed)) {
    const Status status = LoadLocked();
    if (!status.ok()) return status;
  }
  std::vector<ExtentPlace> chosen;
  Status status = ChooseHolesLocked(keep_pages, extents_max, &chosen);
  if (chosen.empty() && !status.ok()) return status;
  if (chosen.empty()) return 0u;
  // If a freeing were lost, its page would be in use again, and empty. If this stops here, the
  // chosen extents stay withheld: their space is requested again before use.
  status = pool_->log()->WaitDurable(pool_->log()->tail());
  if (!status.ok()) return status;
  uint32_t made = 0;
  for (const ExtentPlace place : chosen) {
    status = pool_->files()->Punch(FirstPage(place), ExtentPages(page_size()));
    if (!status.ok()) return status;
    const MutexLock lock(&mutex_);
    SetUse(&groups_[place.group], place.extent, ExtentUse::kHole);
    ++made;
  }
  return made;
}

}  // namespace rowan
