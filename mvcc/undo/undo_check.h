// SPDX-License-Identifier: GPL-2.0-only
// UndoCheck: walks all streams: links, record bounds, order, summaries.
// Thread safety: one walk at a time; streams may be in use.
#pragma once

#include "base/function_ref.h"
#include "base/ids.h"
#include "base/status.h"
#include "mvcc/undo/undo_streams.h"

namespace rowan {

class UndoCheck {
 public:
  using PageVisit = FunctionRef<void(PageNumber page)>;

  explicit UndoCheck(UndoStreams* streams) : streams_(streams), space_(streams->space()) {}

  /// `visit_page` (may be empty) gets the pages of the directory and of all streams in which purge
  /// is not at work. `*passed_over`: a stream in which purge is at work was skipped with its pages.
  Status Run(PageVisit visit_page = {}, bool* passed_over = nullptr);

 private:
  Status CheckStream(UndoStream* stream, PageVisit visit_page);
  Status CheckLinks(UndoStream* stream, PageVisit visit_page);
  /// One walk over the stream from its first record. kRestart, if it is `in_use`: it changed
  /// meanwhile, or is damaged.
  Status WalkStream(UndoStream* stream, PageVisit visit_page, bool in_use);

  UndoStreams* const streams_;
  UndoSpace* const space_;
};

}  // namespace rowan
