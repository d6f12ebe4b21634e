// SPDX-License-Identifier: GPL-2.0-only
// LeakSearch: finds lost pages of a space, which its bitmap marks as in use but nothing refers to,
// and shared pages, which a walk meets twice: when one owner frees such a page, the other loses it.
// Exact when nothing is written; with concurrent writers it errs on the side of silence: in each of
// several walks a lost page must be in use before and after, and be missed. Pages that only old
// versions or unfinished transactions may refer to (off-page values, undo, trees of indexes that
// are being built or were dropped) are reported only if the walk was quiet, shared pages only if
// two walks were. Thread safety: one thread; others may use the space.
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
  /// Calls `reach` for all pages in use; sets `*quiet` when nothing was written during the walk and
  /// no old version is kept.
  using Walk = FunctionRef<Status(PageVisit reach, bool* quiet)>;
  /// kCorrupt (pages named in the log) when pages are lost or shared, or the error of the walk or
  /// the bitmap.
  Status Run(Walk walk);

 private:
  /// Ascending.
  struct Found {
    std::vector<PageNumber> lost;    ///< in use, but not reached
    std::vector<PageNumber> shared;  ///< reached more than once
  };

  /// One walk.
  Status Round(Walk walk, Found* found, bool* quiet);
  Status Report(const std::vector<PageNumber>& pages, const char* what, const char* summary);
  [[nodiscard]] bool MayBeOld(PageNumber page) const;

  PageAllocator* const allocator_;
  const SpaceId space_;
  const std::vector<IndexId> indexes_;
};

}  // namespace rowan
