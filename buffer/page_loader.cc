// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/page_loader.h"

#include <string>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/logging.h"
#include "base/out_of_memory.h"
#include "buffer/eviction.h"
#include "buffer/page/page_header.h"
#include "buffer/redo_use.h"

namespace rowan {

Result<Frame*> PageLoader::TakeFor(uint64_t key) {
  Result<Frame*> taken = supply_->Take();
  if (!taken.ok()) return taken;
  if (frames_->Publish(*taken, key) == PageTable::kNone) return taken;
  frames_->Free(*taken);
  return Status(Code::kRestart);
}

Result<Frame*> PageLoader::Load(PageId id, FixHint hint) {
  const uint64_t key = id.Packed();
  if (key == 0) return Status(Code::kNotFound, "page 0 of space 0 does not exist");
  Result<Frame*> taken = TakeFor(key);
  if (!taken.ok()) return taken;
  const Status status = ReadInto(*taken, id, hint);
  if (!status.ok()) {
    frames_->Drop(*taken);
    return status;
  }
  ROWAN_DCHECK((*taken)->page_id.load(std::memory_order_relaxed) == key);
  ROWAN_DCHECK(PageIdOf(frames_->PageOf(*taken).data()) == id);
  AddCounter(Counter::kPagesRead);
  FrameTable::EndLoad(*taken, IsScan(hint) ? kUsageScan : kUsageEntered);
  return taken;
}

Result<Frame*> PageLoader::LoadNew(PageId id) {
  if (!files_->spaces()->IsLive(id.space)) {
    return Status(Code::kNotFound, "the tablespace does not exist");
  }
  const uint64_t key = id.Packed();
  Result<Frame*> taken = TakeFor(key);
  if (!taken.ok()) return taken;
  if (files_->backlog() != nullptr) {
    const RedoUse redo(frames_, files_);
    if (RedoBacklog::Page* page = redo.Find(key)) redo.Remove(page);
  }
  FrameTable::EndLoad(*taken, kUsageEntered);
  return taken;
}

Status PageLoader::ReadInto(Frame* frame, PageId id, FixHint hint) {
  return OrOutOfMemory([&] {
    return files_->backlog() == nullptr ? ReadFile(frame, id, hint) : ReadAndRedo(frame, id, hint);
  });
}

Status PageLoader::ReadAndRedo(Frame* frame, PageId id, FixHint hint) {
  const RedoUse redo(frames_, files_);
  RedoBacklog::Page* page = redo.Find(id.Packed());
  if (page == nullptr) return ReadFile(frame, id, hint);
  auto how = redo.MakesAnew(*page) ? RedoUse::How::kAnew : RedoUse::How::kRead;
  if (how == RedoUse::How::kAnew) {
    const Status usable = files_->CheckUsable(id);
    if (!usable.ok()) return usable;
  }
  if (how == RedoUse::How::kRead) {
    const bool kept = redo.HasKept(*page);
    const Status status = ReadFile(frame, id, page->fresh || kept ? FixHint::kSpeculative : hint);
    const bool unread = kept && status.Is(Code::kCorrupt);
    if (!status.ok() && !page->fresh && !unread) return status;
    if (!status.ok()) how = page->fresh ? RedoUse::How::kAnew : RedoUse::How::kUnread;
  }
  const Status status = redo.Apply(page, frame, how);
  if (!status.Is(Code::kCorrupt)) return status;
  return Damaged(id, hint,
                 how == RedoUse::How::kUnread
                     ? "it cannot be repaired from what was kept of the redo log"
                     : "the redo log does not fit it");
}

Status PageLoader::ReadFile(Frame* frame, PageId id, FixHint hint) {
  const MutableBytes page = frames_->PageOf(frame);
  const Status status = files_->spaces()->ReadPage(id, page);
  if (status.Is(Code::kIoError) && status.detail() == 0) {
    return Damaged(id, hint, "it lies beyond the end of the file");
  }
  if (!status.ok()) {
    if (status.Is(Code::kIoError)) {
      LogError("Reading page {} of {} failed with error {}. The statement fails, the rest works.",
               id.page.value(), files_->spaces()->PathOf(id.space), status.detail());
    }
    return status;
  }
  const std::string wrong = files_->Check(page, id);
  return wrong.empty() ? Status::Ok() : Damaged(id, hint, wrong, page);
}

Status PageLoader::Damaged(PageId id, FixHint hint, std::string_view what, Bytes page) {
  if (!IsSpeculative(hint)) {
    const bool own = !page.empty() && PageIdOf(page.data()) == id;
    damage_->Report(id, what, own ? PageIndexOf(page.data()) : kNoIndex);
  }
  return Status(Code::kCorrupt, "a page is damaged", id.page.value());
}

}  // namespace rowan
