// SPDX-License-Identifier: GPL-2.0-only
// LeakSearch: finds pages of a space that its bitmap calls in use and that nothing refers to.
// Exact when nobody writes; beside writers it errs on the side of silence: a page must be in use
// before and after a walk, be missed by it, and that in each of several walks. Pages that only old
// versions or unfinished transactions may refer to (off-page values, undo, trees of indexes that
// are being built or were dropped) are judged only if the walk was quiet. Thread safety: one
// thread; others may use the space.
#pragma once

#include <utility>
#include <vector>

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "space/page_allocator.h"

namespace rowan {

class LeakSearch {
 public:
  /// `indexes`: those whose trees the walk visits.
  LeakSearch(PageAllocator* allocator, SpaceId space, std::vector<IndexId> indexes = {})
      : allocator_(allocator), space_(space), indexes_(std::move(indexes)) {}

  using PageVisit = FunctionRef<void(PageNumber page)>;
  /// Calls `reach` for all pages in use; sets `*quiet` when nothing wrote meanwhile and no old
  /// version is kept.
  using Walk = FunctionRef<Status(PageVisit reach, bool* quiet)>;
  /// kCorrupt (pages named in the log) when pages are lost, or what the walk or the bitmap fail
  /// with.
  Status Run(Walk walk);

 private:
  /// One walk: what it missed goes to `lost`.
  Status Round(Walk walk, std::vector<PageNumber>* lost, bool* quiet);
  [[nodiscard]] bool MayBeOld(PageNumber page) const;

  PageAllocator* const allocator_;
  const SpaceId space_;
  const std::vector<IndexId> indexes_;
};

}  // namespace rowan
