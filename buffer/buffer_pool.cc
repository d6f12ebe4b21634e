// SPDX-License-Identifier: GPL-2.0-only
#include "buffer/buffer_pool.h"

#include <algorithm>
#include <chrono>
#include <cstring>
#include <string>
#include <utility>

#include "base/assertions.h"
#include "base/counters.h"
#include "base/crc32c.h"
#include "buffer/eviction.h"
#include "buffer/pool_memory.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kFoldTick{1000};
/// Memory for pages that are not in the pool: page LSNs and visibility maps get a 32nd of its size
/// each, enough for all pages of data 60 times as large, with pages of 16 KiB. A small pool gets an
/// amount that no machine notices.
constexpr uint64_t kPoolShareOfMaps = 32;
constexpr uint64_t kMapBytesMin = uint64_t{4} << 20;
/// Size at which the page LSNs' journals are folded: a mebipage.
constexpr uint64_t kJournalBytesMin = uint64_t{16} << 20;

void RaiseUsage(Frame* frame, uint8_t usage) {
  // Stored only if it changes: a hit on a hot page writes nothing shared but the latch.
  if (frame->usage.load(std::memory_order_relaxed) < usage) {
    frame->usage.store(usage, std::memory_order_relaxed);
  }
}

/// False if the frame got another page while waiting. We must not wait for that page's latch: its
/// holder may wait for a page that this thread holds.
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

/// The pool may be resized up to what a start would accept. Control group limits may be raised
/// meanwhile.
uint32_t FramesMax(uint32_t page_size, uint64_t machine_bytes) {
  const uint64_t most = std::min(PoolBytesMax(page_size, {.machine_bytes = machine_bytes}),
                                 kPoolBytesLimits.greatest);
  return static_cast<uint32_t>(std::min<uint64_t>(most / page_size, UINT32_MAX / 2));
}

PageLsns::Origin OriginOf(const ControlFile* control) {
  if (control == nullptr) return {};
  const ControlData data = control->data();
  return {.instance = Crc32c(std::as_bytes(std::span(data.instance_id))),
          .expected = data.checkpoint_lsn > Log::kFirstLsn};
}

}  // namespace

Result<PageGuard> BufferPool::Fix(PageId id, LatchMode mode, FixHint hint) {
  ROWAN_DCHECK(mode != LatchMode::kNone);
  const uint64_t key = id.Packed();
  for (;;) {
    const uint32_t number = frames_.Lookup(key);
    if (number == PageTable::kNone) {
      Result<Frame*> loaded = loader_.Load(id, hint);
      if (!loaded.ok()) {
        if (loaded.status().Is(Code::kRestart)) continue;
        return loaded.status();
      }
      Frame* frame = loaded.value();
      ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) == key);
      if (mode == LatchMode::kShared) frame->latch.DowngradeToShared();
      return PageGuard(frame, frames_.page(frame->number), mode);
    }
    Frame* frame = frames_.frame(number);
    if (frame->state.load(std::memory_order_relaxed) == FrameState::kLoading) [[unlikely]] {
      AddCounter(Counter::kPageReadWaits);
    }
    if (!LockAs(frame, mode, key)) continue;
    if (frame->page_id.load(std::memory_order_relaxed) == key) {
      ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kResident);
      if (!IsScan(hint)) RaiseUsage(frame, kUsageHit);
      return PageGuard(frame, frames_.page(number), mode);
    }
    UnlockAs(frame, mode);
  }
}

Result<PageGuard> BufferPool::FixAbsent(PageId id, FixHint hint) {
  if (IsResident(id)) return Status(Code::kRestart);
  const Result<Frame*> loaded = loader_.Load(id, hint);
  if (!loaded.ok()) return loaded.status();
  Frame* frame = loaded.value();
  frame->latch.DowngradeToShared();
  return PageGuard(frame, frames_.page(frame->number), LatchMode::kShared);
}

Status BufferPool::FixOptimistic(PageId id, FixHint hint, OptimisticPage* page) {
  const uint64_t key = id.Packed();
  for (;;) {
    const uint32_t number = frames_.Lookup(key);
    if (number == PageTable::kNone) {
      Result<Frame*> loaded = loader_.Load(id, hint);
      if (loaded.ok()) {
        loaded.value()->latch.UnlockExclusive();
      } else if (!loaded.status().Is(Code::kRestart)) {
        return loaded.status();
      }
      continue;
    }
    Frame* frame = frames_.frame(number);
    Latch::Version version;
    if (!frame->latch.TryOptimistic(&version)) {
      // Parks until the writer inside has left.
      if (frame->latch.LockSharedWhile(frame->page_id, key)) frame->latch.UnlockShared();
      continue;
    }
    // The id changes only under the exclusive latch: if it is right now, it stays right as long as
    // `version` validates.
    if (frame->page_id.load(std::memory_order_acquire) != key) continue;
    if (!IsScan(hint)) RaiseUsage(frame, kUsageInner);
    *page = {frame, frames_.page(number), version};
    return Status::Ok();
  }
}

bool BufferPool::TryFixOptimistic(PageId id, TreeLevel level, OptimisticPage* page) {
  const uint64_t key = id.Packed();
  const uint32_t number = frames_.Lookup(key);
  if (number == PageTable::kNone) return false;
  const std::byte* const bytes = frames_.page(number);
  // With the frame's header, so that the two misses of a cold page overlap: the page's own header,
  // and the line after it, which readers look at next.
  __builtin_prefetch(bytes);
  __builtin_prefetch(bytes + 64);
  Frame* const frame = frames_.frame(number);
  Latch::Version version;
  if (!frame->latch.TryOptimistic(&version)) return false;
  // As in FixOptimistic.
  if (frame->page_id.load(std::memory_order_acquire) != key) return false;
  RaiseUsage(frame, level == TreeLevel::kLeaf ? kUsageHit : kUsageInner);
  *page = {frame, bytes, version};
  return true;
}

PageGuard BufferPool::TryFixUnchanged(const OptimisticPage& page) {
  Frame* frame = page.frame;
  if (!frame->latch.TryUpgradeFromOptimistic(page.version)) return {};
  RaiseUsage(frame, kUsageHit);
  return PageGuard(frame, frames_.page(frame->number), LatchMode::kExclusive);
}

Result<PageGuard> BufferPool::FixNew(PageId id) {
  const uint64_t key = id.Packed();
  ROWAN_CHECK(key != 0);
  for (;;) {
    Frame* frame = nullptr;
    const uint32_t number = frames_.Lookup(key);
    if (number == PageTable::kNone) {
      const Result<Frame*> loaded = loader_.LoadNew(id);
      if (loaded.status().Is(Code::kRestart)) continue;
      if (!loaded.ok()) return loaded.status();
      frame = loaded.value();
    } else {
      frame = frames_.frame(number);
      if (!LockAs(frame, LatchMode::kExclusive, key)) continue;
      if (frame->page_id.load(std::memory_order_relaxed) != key) {
        frame->latch.UnlockExclusive();
        continue;
      }
    }
    ROWAN_DCHECK(frame->latch.IsLockedExclusive());
    ROWAN_DCHECK(frame->page_id.load(std::memory_order_relaxed) == key);
    const MutableBytes page = frames_.PageOf(frame);
    std::memset(page.data(), 0, page.size());
    return PageGuard(frame, page.data(), LatchMode::kExclusive);
  }
}

void BufferPool::Discard(PageGuard guard) {
  ROWAN_CHECK(guard.mode() == LatchMode::kExclusive);
  Frame* frame = guard.frame();
  ROWAN_DCHECK(frame->state.load(std::memory_order_relaxed) == FrameState::kResident);
  const Lsn first_dirty = frame->FirstDirtyLsn();
  // Before the mark is cleared: a sweep that finds the frame clean then sees the floor.
  if (first_dirty != kNoLsn) checkpointer_.NoteDiscard(frame, first_dirty);
  if (frame->io_in_progress.load(std::memory_order_acquire) != 0) {
    // The old image may still land on disk: the frame keeps the page, clean and first to be
    // evicted, so no second copy of it is written alongside the one in flight.
    frames_.ClearDirty(frame);
    frame->usage.store(0, std::memory_order_relaxed);
    guard.Release();
    return;
  }
  guard.Forget();  // Drop releases the latch
  frames_.Drop(frame);
}

bool BufferPool::IsDirty(PageId id) const {
  const uint32_t number = frames_.Lookup(id.Packed());
  if (number == PageTable::kNone) return false;
  const Frame* frame = frames_.frame(number);
  return frame->page_id.load(std::memory_order_acquire) == id.Packed() &&
         frame->FirstDirtyLsn() != kNoLsn;
}

void BufferPool::MarkDirty(const PageGuard& guard, Lsn lower_bound) {
  ROWAN_DCHECK(guard.mode() == LatchMode::kExclusive);
  const bool logged = !IsTemporary(guard.id().space);
  ROWAN_DCHECK(!logged || log() == nullptr || lower_bound <= log()->tail());
  frames_.MarkDirty(guard.frame(), logged ? lower_bound : kDirtyUnlogged);
}

BufferPool::BufferPool(const BufferOptions& options, SpaceFiles* files, FileSystem* file_system,
                       Log* log, ControlFile* control, std::unique_ptr<FrameArena> arena)
    : frames_(std::move(arena)),
      files_(options, files, file_system, log, control),
      damage_(files),
      slots_(WriterSlots::Of(options, frames_.page_size())),
      doublewrite_(file_system, files, files_.syncs(), files_.page_lsns()),
      supply_(&frames_, &files_, &doublewrite_, slots_),
      loader_(&frames_, &files_, &supply_, &damage_),
      checkpointer_(&frames_, &files_,
                    control == nullptr ? kNoLsn : control->data().checkpoint_lsn),
      cleaners_(&frames_, &files_, &checkpointer_, &doublewrite_, slots_),
      read_ahead_(&frames_, &files_, &supply_),
      limiter_(frames_.frames_ever()),
      dead_spaces_(&frames_, files),
      evictor_(&frames_, &dead_spaces_, &cleaners_),
      lsn_folder_("versions", kFoldTick, [this] { return FoldPageLsns(); }),
      pressure_(std::make_shared<PressureTarget>()),
      flush_writer_(&frames_, &files_, &doublewrite_, WriterSlots::kFlush),
      resizer_(&frames_, &checkpointer_, &limiter_) {
  supply_.SetWakeEvictor([this] { evictor_.Wake(); });
  ShareMemory(options.pool_bytes);
}

/// Memory for pages outside the pool depends on its size, too.
void BufferPool::ShareMemory(uint64_t pool_bytes) {
  const uint64_t share = pool_bytes / kPoolShareOfMaps;
  map_memory_->SetMax(std::max(kMapBytesMin, share));
  files_.page_lsns()->SetMemoryMax({.chunk_bytes = std::max(kMapBytesMin, share),
                                    .journal_bytes = std::max(kJournalBytesMin, share)});
}

BufferPool::~BufferPool() { Close(); }

Result<std::unique_ptr<BufferPool>> BufferPool::Open(const BufferOptions& options,
                                                     SpaceFiles* files, FileSystem* file_system,
                                                     Log* log, ControlFile* control) {
  const uint32_t page_size = files->page_size_bytes();
  Status status = CheckBufferOptions(options, page_size);
  if (!status.ok()) return status;
  const MachineMemory memory = options.memory();
  status = RefusePoolBeyondMemory(options.pool_bytes, page_size, memory);
  if (!status.ok()) return status;
  WarnOfPoolBeyondMemory(options.pool_bytes, page_size, memory);
  const auto frames = static_cast<uint32_t>(options.pool_bytes / page_size);
  Result<std::unique_ptr<FrameArena>> arena =
      FrameArena::Create(page_size, frames, FramesMax(page_size, memory.machine_bytes));
  if (!arena.ok()) return arena.status();
  std::unique_ptr<BufferPool> pool(
      new BufferPool(options, files, file_system, log, control, std::move(arena).value()));
  status = pool->OpenFiles();
  if (!status.ok()) return status;
  return pool;
}

Status BufferPool::OpenFiles() {
  const uint32_t segments = PageWriter::SegmentsPerWriter(frames_.frames_ever());
  Status status = doublewrite_.Open(slots_.total() * segments);
  if (!status.ok()) return status;
  status = files_.page_lsns()->Open(OriginOf(files_.control()));
  if (!status.ok()) return status;
  if (files_.doublewrite_mode() == DoublewriteMode::kAtomic) {
    status = files_.CheckAtomicWrites();
    if (!status.ok()) return status;
    files_.spaces()->SetAtomic(true);
  }
  std::string reason;
  Result<std::unique_ptr<WriteBatch>> probe =
      MakeWriteBatch(files_.file_system(), files_.options().io_backend, 8, &reason);
  if (!probe.ok()) return probe.status();
  backend_ = probe.value()->backend();
  return Status::Ok();
}

void BufferPool::Close() {
  const MutexLock guard(&lifecycle_mutex_);
  if (background_running_) StopBackgroundLocked();
}

void BufferPool::StopBackgroundLocked() {
  {
    const MutexLock target(&pressure_->mutex);
    pressure_->cleaners = nullptr;
  }
  read_ahead_.Stop();
  evictor_.Stop();
  lsn_folder_.Stop();
  cleaners_.Stop();
  background_running_ = false;
}

Status BufferPool::StartBackground() {
  const MutexLock guard(&lifecycle_mutex_);
  if (background_running_) return Status::Ok();
  {
    const MutexLock target(&pressure_->mutex);
    pressure_->cleaners = &cleaners_;
  }
  if (log() != nullptr) {
    log()->SetPressureCallback([target = pressure_] {
      const MutexLock lock(&target->mutex);
      if (target->cleaners != nullptr) target->cleaners->OnLogPressure();
    });
  }
  background_running_ = true;
  const Status status = StartThreads();
  if (!status.ok()) StopBackgroundLocked();
  return status;
}

Status BufferPool::StartThreads() {
  Status status = evictor_.Start();
  if (!status.ok()) return status;
  status = lsn_folder_.Start();
  if (!status.ok()) return status;
  status = cleaners_.Start();
  if (!status.ok()) return status;
  return read_ahead_.Start();
}

ThreadLoop::Next BufferPool::FoldPageLsns() {
  PageLsns* const lsns = files_.page_lsns();
  if (files_.Stopped() || !lsns->WantsFold()) return ThreadLoop::Next::kWait;
  // A failure is logged and changes nothing.
  lsns->Fold([this] { return lsn_folder_.stopping() || files_.Stopped(); }).Ignore();
  return ThreadLoop::Next::kWait;
}

void BufferPool::ForgetSpace(SpaceId space, uint32_t pages_max) {
  files_.page_lsns()->Forget(space);
  dead_spaces_.Add(space, pages_max);
  const MutexLock guard(&lifecycle_mutex_);
  if (background_running_) {
    evictor_.Wake();
  } else {
    while (dead_spaces_.ForgetSome()) {
    }
  }
}

Status BufferPool::FlushAndCheckpoint(FlushReason reason, FunctionRef<bool()> is_over) {
  const MutexLock guard(&flush_mutex_);
  if (files_.Stopped()) return Status(Code::kStopped, "the log is stopped");
  flush_writer_.SetReason(reason);
  const Status status = checkpointer_.SweepAll(&flush_writer_, is_over);
  if (!status.ok()) return status;
  return checkpointer_.WriteCheckpoint();
}

Status BufferPool::Resize(uint64_t pool_bytes) {
  const MutexLock guard(&flush_mutex_);
  const MachineMemory memory = files_.options().memory();
  const Status status = RefusePoolBeyondMemory(pool_bytes, page_size_bytes(), memory);
  if (!status.ok()) return status;
  const uint64_t bytes_before = uint64_t{frames_.limit()} * page_size_bytes();
  if (pool_bytes > bytes_before) WarnOfPoolBeyondMemory(pool_bytes, page_size_bytes(), memory);
  const Status resized = resizer_.Resize(pool_bytes / page_size_bytes(), &flush_writer_);
  ShareMemory(uint64_t{frames_.limit()} * page_size_bytes());
  return resized;
}

Status BufferPool::RepairFromDoublewrite(const DoublewriteFile::Absent& absent) {
  if (files_.control() != nullptr) {
    files_.page_lsns()->BeginRedo(files_.control()->data().checkpoint_lsn);
  }
  checkpointer_.BeginRedo();
  return doublewrite_.Repair(log() == nullptr ? Lsn(UINT64_MAX) : log()->tail(), absent);
}

Status BufferPool::CheckDoublewrite(FileSystem* file_system, SpaceFiles* files, Lsn log_end) {
  return DoublewriteFile(file_system, files, nullptr, nullptr).Check(log_end);
}

void BufferPool::EndRedo() {
  files_.EndRedo();
  files_.page_lsns()->EndRedo();
  checkpointer_.EndRedo();
}

Status BufferPool::SetDoublewriteMode(DoublewriteMode mode) {
  if (mode == files_.doublewrite_mode()) return Status::Ok();
  Status status = mode == DoublewriteMode::kAtomic ? files_.CheckAtomicWrites() : Status::Ok();
  if (!status.ok()) return status;
  const ClosedWriteGate gate(files_.write_gate());
  // Emptied in between: its images would be older than pages written without it.
  status = doublewrite_.Reset();
  if (!status.ok()) return files_.StopEngine("emptying the doublewrite file failed", status);
  files_.SetDoublewriteMode(mode);
  return Status::Ok();
}

PoolStatistics BufferPool::Statistics() const {
  PoolStatistics statistics;
  statistics.frames = frames_.limit();
  statistics.free_frames = frames_.free_frames();
  statistics.dirty_frames = frames_.dirty_frames();
  statistics.page_lsns_bytes = files_.page_lsns().MemoryBytes();
  statistics.map_bytes = map_memory_->bytes();
  statistics.checkpoint_lsn = checkpointer_.published();
  const Lsn tail = log() == nullptr ? statistics.checkpoint_lsn : files_.LogTail();
  statistics.checkpoint_age_bytes = tail - std::min(tail, statistics.checkpoint_lsn);
  return statistics;
}

PoolPages BufferPool::PagesBySpace() const {
  PoolPages spaces;
  const uint32_t frames = frames_.frames_used();
  for (uint32_t number = 0; number < frames; ++number) {
    const Frame* frame = frames_.frame(number);
    const uint64_t packed = frame->page_id.load(std::memory_order_relaxed);
    if (packed == 0) continue;
    SpacePages& space = spaces[PageId::Unpack(packed).space];
    ++space.pages;
    if (frame->FirstDirtyLsn() != kNoLsn) ++space.dirty;
  }
  return spaces;
}

}  // namespace rowan
