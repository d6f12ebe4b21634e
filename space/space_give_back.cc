// SPDX-License-Identifier: GPL-2.0-only
// Free extents that become holes of the file, and holes that are used again. Redo never needs what
// was in a hole: it is made when the freeing of its pages is durable, and a page that is taken
// again begins with an initialising record.
#include <algorithm>

#include "space/space_free_map.h"
#include "space/space_pages.h"
#include "wal/log.h"

namespace rowan {
namespace {

/// Taken back into use at once: as files of some size grow.
constexpr uint32_t kRefillExtents = 4;

}  // namespace

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
    // Latched, so that no bit changes and nobody allocates while extents are withheld.
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
  // Were a freeing lost, its page would be in use again, and empty.
  // Where this stops, what was chosen is withheld all the same: asked for again before it is used.
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
