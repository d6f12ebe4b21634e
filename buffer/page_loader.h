// SPDX-License-Identifier: GPL-2.0-only
// PageLoader: brings a page from its file into a frame: takes one, publishes it, reads, checks, and
// during redo applies what the page lacks of the log before it becomes visible.
// Thread safety: all members from any thread.
#pragma once

#include <cstdint>
#include <string_view>

#include "base/bytes.h"
#include "base/ids.h"
#include "base/status.h"
#include "buffer/damage_reporter.h"
#include "buffer/fix_hint.h"
#include "buffer/frame_supply.h"
#include "buffer/frame_table.h"
#include "buffer/page_files.h"

namespace rowan {

class PageLoader {
 public:
  PageLoader(FrameTable* frames, PageFiles* files, FrameSupply* supply,
             const DamageReporter* damage)
      : frames_(frames), files_(files), supply_(supply), damage_(damage) {}

  /// Reads the page into a frame, which is latched exclusively on return. kRestart: another frame
  /// has the page now. Else as BufferPool::Fix.
  Result<Frame*> Load(PageId id, FixHint hint);
  /// The same without reading; neither the frame's contents nor what the page lacks of the log
  /// matter.
  Result<Frame*> LoadNew(PageId id);

 private:
  /// An empty frame, published and latched.
  Result<Frame*> TakeFor(uint64_t key);
  Status ReadInto(Frame* frame, PageId id, FixHint hint);
  /// Reads during redo: the page's records are applied.
  Status ReadAndRedo(Frame* frame, PageId id, FixHint hint);
  Status ReadFile(Frame* frame, PageId id, FixHint hint);
  /// Damage found while reading: reported, except for a speculative reader. `page`: what was read,
  /// if anything.
  Status Damaged(PageId id, FixHint hint, std::string_view what, Bytes page = {});

  FrameTable* const frames_;
  PageFiles* const files_;
  FrameSupply* const supply_;
  const DamageReporter* const damage_;
};

}  // namespace rowan
