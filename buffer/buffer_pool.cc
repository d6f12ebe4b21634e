// SPDX-License-Identifier: GPL-2.0-only
// The hot path: fixing pages, and what happens on a miss. Opening, settings and threads are in
// pool_lifecycle.cc.
#include "buffer/buffer_pool.h"

#include <cstring>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/logging.h"
#include "buffer/pool_impl.h"
#include "buffer/redo_use.h"

namespace rowan {
namespace {

void RaiseUsage(Frame* frame, uint8_t usage) {
  // Stored only if it changes: a hit on a hot page writes nothing shared but the latch.
  if (frame->usage.load(std::memory_order_relaxed) < usage) {
    frame->usage.store(usage, std::memory_order_relaxed);
  }
}

bool IsScan(FixHint hint) { return hint == FixHint::kScan || hint == FixHint::kSpeculativeScan; }
uint8_t UsageOnEntry(FixHint hint) { return IsScan(hint) ? kUsageScan : kUsageEntered; }

/// False when the frame got another page while waiting. Waiting for that page's latch is not ours
/// to do: its holder may wait for a page that this thread holds.
bool LockAs(Frame* frame, LatchMode mode, uint64_t key) {
  return mode == LatchMode::kShared ? frame->latch.LockSharedWhile(frame->page_id, key)
                                    : frame->latch.LockExclusiveWhile(frame->page_id, key);
}

void UnlockAs(Frame* frame, LatchMode mode) {
  if (mode == LatchMode::kShared) {
    frame->latch.UnlockShared();
  } else {
    frame->latch.UnlockExclusive();
  }
}

}  // namespace

Result<PageGuard> BufferPool::Fix(PageId id, LatchMode mode, FixHint hint) {
  ROWAN_DCHECK(mode != LatchMode::kNone);
  PoolCore& core = impl_->core;
  const uint64_t key = id.Packed();
  for (;;) {
    const uint32_t number = core.Lookup(key);
    if (number == PageTable::kNone) {
      Result<Frame*> loaded = impl_->Load(id, hint);
      if (!loaded.ok()) {
        if (loaded.status().Is(Code::kRestart)) continue;
        return loaded.status();
      }
      Frame* frame = loaded.value();
      if (mode == LatchMode::kShared) frame->latch.DowngradeToShared();
      return PageGuard(frame, core.arena->page(frame->number), mode);
    }
    Frame* frame = core.arena->frame(number);
    if (!LockAs(frame, mode, key)) continue;
    if (frame->page_id.load(std::memory_order_relaxed) == key) {
      if (!IsScan(hint)) RaiseUsage(frame, kUsageHit);
      return PageGuard(frame, core.arena->page(number), mode);
    }
    UnlockAs(frame, mode);
  }
}

Status BufferPool::FixOptimistic(PageId id, FixHint hint, OptimisticPage* page) {
  PoolCore& core = impl_->core;
  const uint64_t key = id.Packed();
  for (;;) {
    const uint32_t number = core.Lookup(key);
    if (number == PageTable::kNone) {
      Result<Frame*> loaded = impl_->Load(id, hint);
      if (loaded.ok()) {
        loaded.value()->latch.UnlockExclusive();
      } else if (!loaded.status().Is(Code::kRestart)) {
        return loaded.status();
      }
      continue;
    }
    Frame* frame = core.arena->frame(number);
    Latch::Version version;
    if (!frame->latch.TryOptimistic(&version)) {
      // Parks until the writer inside has left.
      if (frame->latch.LockSharedWhile(frame->page_id, key)) frame->latch.UnlockShared();
      continue;
    }
    // The id changes only under the exclusive latch: if it is right now, it is right as long as
    // `version` validates.
    if (frame->page_id.load(std::memory_order_acquire) != key) continue;
    if (!IsScan(hint)) RaiseUsage(frame, kUsageInner);
    *page = {frame, core.arena->page(number), version};
    return Status::Ok();
  }
}

Result<PageGuard> BufferPool::FixNew(PageId id) {
  PoolCore& core = impl_->core;
  const uint64_t key = id.Packed();
  ROWAN_CHECK(key != 0);
  for (;;) {
    Frame* frame = nullptr;
    const uint32_t number = core.Lookup(key);
    if (number != PageTable::kNone) {
      frame = core.arena->frame(number);
      if (!LockAs(frame, LatchMode::kExclusive, key)) continue;
      if (frame->page_id.load(std::memory_order_relaxed) != key) {
        frame->latch.UnlockExclusive();
        continue;
      }
    } else {
      if (!core.files->IsLive(id.space)) {
        return Status(Code::kNotFound, "the tablespace does not exist");
      }
      Result<Frame*> taken = impl_->supply.Take();
      if (!taken.ok()) return taken.status();
      frame = taken.value();
      if (core.Publish(frame, key) != PageTable::kNone) {
        core.Free(frame);
        continue;
      }
      impl_->ForgetRedo(key);
      impl_->EndLoad(frame, kUsageEntered);
    }
    std::memset(core.PageOf(frame).data(), 0, core.page_size);
    return PageGuard(frame, core.PageOf(frame).data(), LatchMode::kExclusive);
  }
}

Result<Frame*> BufferPool::Impl::Load(PageId id, FixHint hint) {
  const uint64_t key = id.Packed();
  if (key == 0) return Status(Code::kNotFound, "page 0 of space 0 does not exist");
  Result<Frame*> taken = supply.Take();
  if (!taken.ok()) return taken.status();
  Frame* frame = taken.value();
  if (core.Publish(frame, key) != PageTable::kNone) {
    core.Free(frame);
    return Status(Code::kRestart);
  }
  const Status status = ReadInto(frame, id, hint);
  if (!status.ok()) {
    core.Drop(frame);
    return status;
  }
  AddCounter(Counter::kPagesRead);
  EndLoad(frame, UsageOnEntry(hint));
  return frame;
}

Status BufferPool::Impl::ReadInto(Frame* frame, PageId id, FixHint hint) {
  return core.backlog.load(std::memory_order_acquire) == nullptr ? ReadFile(frame, id, hint)
                                                                 : ReadAndRedo(frame, id, hint);
}

Status BufferPool::Impl::ReadAndRedo(Frame* frame, PageId id, FixHint hint) {
  const RedoUse redo(&core);
  RedoBacklog::Page* page = redo.Find(id.Packed());
  if (page == nullptr) return ReadFile(frame, id, hint);
  bool anew = redo.MakesAnew(*page);
  if (!anew) {
    const Status status = ReadFile(frame, id, page->fresh ? FixHint::kSpeculative : hint);
    if (!status.ok() && !page->fresh) return status;
    anew = !status.ok();
  }
  const Status status = redo.Apply(page, frame, anew);
  if (status.ok() || status.Is(Code::kStopped)) return status;
  return Damaged(id, hint, "the redo log does not fit it");
}

Status BufferPool::Impl::ReadFile(Frame* frame, PageId id, FixHint hint) {
  const MutableBytes page = core.PageOf(frame);
  const Status status = core.files->ReadPage(id, page);
  if (status.Is(Code::kIoError) && status.detail() == 0) {
    return Damaged(id, hint, "it lies beyond the end of the file");
  }
  if (!status.ok()) {
    if (status.Is(Code::kIoError)) {
      LogError("Reading page {} of {} failed with error {}. The statement fails, the rest works.",
               id.page.value(), core.files->PathOf(id.space), status.detail());
    }
    return status;
  }
  const std::string wrong = core.Judge(page, id);
  return wrong.empty() ? Status::Ok() : Damaged(id, hint, wrong, page);
}

void BufferPool::Impl::ForgetRedo(uint64_t key) {
  if (core.backlog.load(std::memory_order_acquire) == nullptr) return;
  const RedoUse redo(&core);
  if (RedoBacklog::Page* page = redo.Find(key)) redo.Remove(page);
}

Status BufferPool::Impl::Damaged(PageId id, FixHint hint, std::string_view what, Bytes page) {
  if (hint != FixHint::kSpeculative && hint != FixHint::kSpeculativeScan) {
    const bool own = !page.empty() && PageIdOf(page.data()) == id;
    damage.Report(id, what, own ? PageIndexOf(page.data()) : kNoIndex);
  }
  return Status(Code::kCorrupt, "a page is damaged", id.page.value());
}

Status BufferPool::ReportDamage(PageId id, const char* what, IndexId index) {
  impl_->damage.Report(id, what, index);
  return Status(Code::kCorrupt, what, id.page.value());
}

void BufferPool::SetDamageNamer(DamageNamer namer) { impl_->damage.SetNamer(std::move(namer)); }

void BufferPool::Discard(PageGuard guard) {
  ROWAN_CHECK(guard.mode() == LatchMode::kExclusive);
  PoolCore& core = impl_->core;
  Frame* frame = guard.frame();
  const uint64_t first_dirty = frame->FirstDirtyLsn();
  // Before the mark goes: a sweep that finds the frame clean then sees the floor.
  if (first_dirty != 0) impl_->checkpointer.NoteDiscard(frame, first_dirty);
  if (frame->io_in_progress.load(std::memory_order_acquire) != 0) {
    // The old image may still land on disk: the frame keeps the page, clean and first to go, so
    // that no second copy of it is written beside the one in flight.
    core.ClearDirty(frame);
    frame->usage.store(0, std::memory_order_relaxed);
    guard.Release();
    return;
  }
  guard.Forget();  // Drop releases the latch
  core.Drop(frame);
}

void BufferPool::MarkDirty(const PageGuard& guard, Lsn lower_bound) {
  ROWAN_DCHECK(guard.mode() == LatchMode::kExclusive);
  const bool logged = !IsTemporary(guard.id().space);
  impl_->core.MarkDirty(guard.frame(), logged ? lower_bound.value() : kDirtyUnlogged);
}

void BufferPool::EnterMiniTxn() { impl_->gate.Enter(); }
void BufferPool::LeaveMiniTxn() { impl_->gate.Leave(); }

void BufferPool::Prefetch(std::span<const PageId> pages) { impl_->read_ahead.Request(pages); }

}  // namespace rowan
