// SPDX-License-Identifier: GPL-2.0-only
// Opening and closing the pool, its threads, checkpoints on request, settings and figures.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstring>

#include "base/assertions.h"
#include "base/crc32c.h"
#include "base/logging.h"
#include "buffer/pool_impl.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kEvictorTick{50};
constexpr std::chrono::milliseconds kVersionsTick{1000};
/// Frames or pages looked at per unit of work for dropped spaces: less than a millisecond.
constexpr uint32_t kForgetStep = 32768;
/// Frames the evictor frees per unit of work.
constexpr uint32_t kEvictBatch = 64;

/// The pool may be resized up to the memory of the machine.
uint32_t FramesMax(uint32_t page_size, uint32_t frames) {
  const auto pages = static_cast<uint64_t>(::sysconf(_SC_PHYS_PAGES));
  const uint64_t memory = pages * static_cast<uint64_t>(::sysconf(_SC_PAGESIZE));
  const uint64_t most = std::min<uint64_t>(memory / page_size, UINT32_MAX / 2);
  return std::max(frames, static_cast<uint32_t>(most));
}

Status CheckOptions(const BufferOptions& options, const SpaceFiles& files) {
  const uint32_t page_size = files.page_size_bytes();
  if (options.pool_bytes / page_size < kPoolPagesMin) {
    return Status(Code::kInvalidArgument, "the buffer pool is smaller than 16 pages");
  }
  if (options.pool_bytes > kPoolBytesLimits.greatest ||
      options.pool_bytes / page_size > UINT32_MAX / 2) {
    return Status(Code::kInvalidArgument, "the buffer pool has more pages than are supported");
  }
  if (!kIoCapacityLimits.Allow(options.io_capacity_pages_per_second)) {
    return Status(Code::kInvalidArgument, "the I/O capacity is out of its limits");
  }
  if (!kCleanersLimits.Allow(options.cleaners)) {
    return Status(Code::kInvalidArgument, "there are too many page cleaners");
  }
  return Status::Ok();
}

PageLsns::Origin OriginOf(const ControlFile* control) {
  if (control == nullptr) return {};
  const ControlData data = control->data();
  return {.instance = Crc32c(std::as_bytes(std::span(data.instance_id))),
          .expected = data.checkpoint_lsn > Log::kFirstLsn};
}

/// Untorn page writes must be promised for every file before the doublewrite file may rest.
Status CheckAtomicWrites(const PoolCore& core) {
  // Files made later are judged by one that is here already, on the same file system.
  std::vector<std::string> paths{core.files->folder() + "/" + kDoublewriteFileName};
  Result<std::vector<SpaceId>> spaces = core.files->ListFiles();
  if (!spaces.ok()) return spaces.status();
  for (const SpaceId space : spaces.value()) paths.push_back(core.files->PathOf(space));
  for (const std::string& path : paths) {
    const Result<uint32_t> most = core.file_system->AtomicWriteUnitMax(path);
    if (most.status().Is(Code::kNotFound)) continue;  // dropped meanwhile
    if (!most.ok()) return most.status();
    if (most.value() >= core.page_size) continue;
    LogError(
        "rowan_doublewrite = atomic is refused: '{}' promises untorn writes of at most {} "
        "bytes, a page has {}. Use rowan_doublewrite = on.",
        path, most.value(), core.page_size);
    return Status(Code::kUnsupported, "the files do not promise untorn writes of a page");
  }
  return Status::Ok();
}

}  // namespace

BufferPool::Impl::Impl(const BufferOptions& options, SpaceFiles* files, FileSystem* file_system,
                       Log* log, ControlFile* control, std::unique_ptr<FrameArena> arena)
    : core(options, files, file_system, log, control, std::move(arena)),
      damage(files),
      slots(WriterSlots::Of(options, core.page_size)),
      doublewrite(file_system, files, &core.syncs, &core.versions),
      supply(&core, &doublewrite, WriterSlots::kSessions, slots.sessions),
      checkpointer(&core, control == nullptr ? kNoLsn : control->data().checkpoint_lsn),
      cleaners(&core, &checkpointer, &doublewrite, slots.first_cleaner(), slots.cleaners),
      read_ahead(&core, &supply),
      gate(core.arena->frames_ever()),
      evictor("evict", kEvictorTick, [this] { return EvictUnit(); }),
      versions_folder("versions", kVersionsTick, [this] { return FoldVersions(); }),
      pressure(std::make_shared<PressureTarget>()),
      flush_writer(&core, &doublewrite, WriterSlots::kFlush) {
  supply.SetWakeEvictor([this] { evictor.Wake(); });
  const uint32_t frames = core.arena->frames_ever();
  core.EnlargeTable(frames);
  core.frame_limit.store(frames, std::memory_order_release);
  // Pushed from the end, so that the pool fills from its start.
  for (uint32_t number = frames; number > 0; --number) {
    Frame* frame = core.arena->frame(number - 1);
    frame->state.store(FrameState::kFree, std::memory_order_relaxed);
    core.free_list.Push(frame);
  }
}

BufferPool::BufferPool(std::unique_ptr<Impl> impl)
    : impl_(std::move(impl)), page_size_bytes_(impl_->core.page_size) {}
BufferPool::~BufferPool() { Close(); }

Result<std::unique_ptr<BufferPool>> BufferPool::Open(const BufferOptions& options,
                                                     SpaceFiles* files, FileSystem* file_system,
                                                     Log* log, ControlFile* control) {
  Status status = CheckOptions(options, *files);
  if (!status.ok()) return status;
  const uint32_t page_size = files->page_size_bytes();
  const auto frames = static_cast<uint32_t>(options.pool_bytes / page_size);
  Result<std::unique_ptr<FrameArena>> arena =
      FrameArena::Create(page_size, frames, FramesMax(page_size, frames));
  if (!arena.ok()) return arena.status();
  auto impl =
      std::make_unique<Impl>(options, files, file_system, log, control, std::move(arena).value());
  status = impl->doublewrite.Open(impl->slots.total() * PageWriter::SegmentsPerWriter(impl->core));
  if (!status.ok()) return status;
  status = impl->core.versions.Open(OriginOf(control));
  if (!status.ok()) return status;
  if (options.doublewrite == DoublewriteMode::kAtomic) {
    status = CheckAtomicWrites(impl->core);
    if (!status.ok()) return status;
    files->SetAtomic(true);
  }
  std::string reason;
  Result<std::unique_ptr<WriteBatch>> probe =
      MakeWriteBatch(file_system, options.io_backend, 8, &reason);
  if (!probe.ok()) return probe.status();
  impl->backend = probe.value()->backend();
  return std::unique_ptr<BufferPool>(new BufferPool(std::move(impl)));
}

void BufferPool::Close() {
  const MutexLock guard(&impl_->lifecycle_mutex);
  if (!impl_->background_running) return;
  {
    const MutexLock target(&impl_->pressure->mutex);
    impl_->pressure->cleaners = nullptr;
  }
  impl_->read_ahead.Stop();
  impl_->evictor.Stop();
  impl_->versions_folder.Stop();
  impl_->cleaners.Stop();
  impl_->background_running = false;
}

void BufferPool::StartBackground() {
  const MutexLock guard(&impl_->lifecycle_mutex);
  if (impl_->background_running) return;
  {
    const MutexLock target(&impl_->pressure->mutex);
    impl_->pressure->cleaners = &impl_->cleaners;
  }
  if (impl_->core.log != nullptr) {
    impl_->core.log->SetPressureCallback([target = impl_->pressure] {
      const MutexLock lock(&target->mutex);
      if (target->cleaners != nullptr) target->cleaners->OnLogPressure();
    });
  }
  impl_->evictor.Start();
  impl_->versions_folder.Start();
  impl_->cleaners.Start();
  impl_->read_ahead.Start();
  impl_->background_running = true;
}

ThreadLoop::Next BufferPool::Impl::EvictUnit() {
  const bool forgetting = ForgetDeadSpaces();
  const uint32_t frames = core.frame_limit.load(std::memory_order_acquire);
  const uint32_t wanted = FreeFramesHigh(frames);
  uint64_t dirty_seen = 0;
  uint32_t freed = 0;
  while (freed < kEvictBatch && core.free_list.size() < wanted) {
    Frame* frame = EvictClean(&core, std::min<uint64_t>(4 * uint64_t{frames}, 4096), &dirty_seen);
    if (frame == nullptr) break;
    core.Free(frame);
    ++freed;
  }
  if (dirty_seen != 0) {
    core.want_clean_frames.store(true, std::memory_order_relaxed);
    cleaners.Wake();
  }
  const bool more = forgetting || (freed == kEvictBatch && core.free_list.size() < wanted);
  return more ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

ThreadLoop::Next BufferPool::Impl::FoldVersions() {
  if (core.Stopped() || !core.versions.WantsFold()) return ThreadLoop::Next::kWait;
  // A failure is logged and changes nothing.
  core.versions.Fold([this] { return versions_folder.stopping() || core.Stopped(); }).Ignore();
  return ThreadLoop::Next::kWait;
}

void BufferPool::ForgetSpace(SpaceId space, uint32_t pages_max) {
  impl_->core.versions.Forget(space);
  {
    const MutexLock guard(&impl_->dead_mutex);
    impl_->dead_spaces.push_back({space, pages_max});
  }
  const MutexLock guard(&impl_->lifecycle_mutex);
  if (impl_->background_running) {
    impl_->evictor.Wake();
  } else {
    while (impl_->ForgetDeadSpaces()) {
    }
  }
}

void BufferPool::Impl::ForgetPages(SpaceId space, uint32_t pages) {
  for (uint32_t page = 0; page < pages; ++page) {
    const uint32_t number = core.Lookup(PageId{space, PageNumber(page)}.Packed());
    // A frame in use right now goes the usual way later: its page is never written any more.
    if (number != PageTable::kNone) (void)core.TryForget(core.arena->frame(number));
  }
}

bool BufferPool::Impl::ForgetDeadSpaces() {
  std::vector<DeadSpace> dead;
  {
    const MutexLock guard(&dead_mutex);
    dead.swap(dead_spaces);
  }
  const uint32_t frames = core.arena->frames_ever();
  for (const DeadSpace& item : dead) {
    if (item.pages_max <= std::min(frames, kForgetStep)) {
      ForgetPages(item.space, item.pages_max);
    } else {
      walked_spaces.push_back(item.space);
      walked_frames = 0;  // one walk for all of them
    }
  }
  if (walked_spaces.empty()) return false;
  std::sort(walked_spaces.begin(), walked_spaces.end());
  const uint32_t end = walked_frames + std::min(kForgetStep, frames - walked_frames);
  for (; walked_frames < end; ++walked_frames) {
    Frame* frame = core.arena->frame(walked_frames);
    const uint64_t key = frame->page_id.load(std::memory_order_relaxed);
    if (key == 0 || !std::binary_search(walked_spaces.begin(), walked_spaces.end(),
                                        PageId::Unpack(key).space)) {
      continue;
    }
    (void)core.TryForget(frame);
  }
  if (walked_frames < frames) return true;
  walked_spaces.clear();
  walked_frames = 0;
  return false;
}

Status BufferPool::Impl::FlushAllLocked(uint64_t deadline_nanos) {
  // Several shards at a time, so that batches are full.
  constexpr uint32_t kShardsPerSweep = 64;
  const Lsn target(core.LogTail());
  const uint32_t shards = checkpointer.shard_count();
  for (uint32_t first = 0; first < shards; first += kShardsPerSweep) {
    const uint32_t count = std::min(kShardsPerSweep, shards - first);
    const Status status =
        checkpointer.Sweep(&flush_writer, first, count, SweepMode::kUrgent, deadline_nanos);
    if (!status.ok()) return status;
  }
  // Those that a cleaner was sweeping, one by one: then its end is waited for.
  for (uint32_t shard = 0; shard < shards; ++shard) {
    if (checkpointer.CleanUpto(shard) >= target) continue;
    const Status status =
        checkpointer.Sweep(&flush_writer, shard, 1, SweepMode::kUrgent, deadline_nanos);
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

Status BufferPool::FlushAndCheckpoint(uint64_t deadline_nanos) {
  const MutexLock guard(&impl_->flush_mutex);
  if (impl_->core.Stopped()) return Status(Code::kStopped, "the log is stopped");
  const Status status = impl_->FlushAllLocked(deadline_nanos);
  if (!status.ok()) return status;
  return impl_->checkpointer.WriteCheckpoint();
}

Status BufferPool::RepairFromDoublewrite(std::set<SpaceId>* passed_over) {
  PoolCore& core = impl_->core;
  if (core.control != nullptr) core.versions.BeginRedo(core.control->data().checkpoint_lsn);
  impl_->checkpointer.BeginRedo();
  return impl_->doublewrite.Repair(core.log == nullptr ? Lsn(UINT64_MAX) : core.log->tail(),
                                   passed_over);
}

Status BufferPool::JudgeDoublewrite(FileSystem* file_system, SpaceFiles* files, Lsn log_end) {
  return DoublewriteFile(file_system, files, nullptr, nullptr).Judge(log_end);
}

void BufferPool::BeginRedo(RedoBacklog* backlog) {
  impl_->core.backlog.store(backlog, std::memory_order_release);
}

bool BufferPool::IsResident(PageId id) const {
  return impl_->core.Lookup(id.Packed()) != PageTable::kNone;
}

void BufferPool::EndRedo() {
  PoolCore& core = impl_->core;
  // Nobody begins a use any more, and who looks at it now is waited for: a checkpoint would take
  // the log away that is read there.
  core.backlog.store(nullptr, std::memory_order_seq_cst);
  { const ExclusiveLock guard(&core.backlog_mutex); }
  core.versions.EndRedo();
  impl_->checkpointer.EndRedo();
}

Status BufferPool::CheckPageVersions(SpaceId space) {
  return impl_->core.versions.Check(space).status();
}

Status BufferPool::SetDoublewriteMode(DoublewriteMode mode) {
  PoolCore& core = impl_->core;
  const DoublewriteMode before = core.doublewrite_mode.load(std::memory_order_acquire);
  if (mode == before) return Status::Ok();
  const bool atomic = mode == DoublewriteMode::kAtomic;
  Status status = atomic ? CheckAtomicWrites(core) : Status::Ok();
  if (!status.ok()) return status;
  const ClosedWriteGate gate(&core.write_gate);
  // Emptied in between: images in it would be older than pages written without it.
  status = impl_->doublewrite.Reset();
  if (!status.ok()) return core.StopEngine("emptying the doublewrite file failed", status);
  core.files->SetAtomic(atomic);
  core.doublewrite_mode.store(mode, std::memory_order_release);
  return Status::Ok();
}

void BufferPool::SetDataSyncMethod(SyncMethod method) { impl_->core.syncs.SetMethod(method); }
void BufferPool::SetIoCapacity(uint32_t pages_per_second) {
  impl_->cleaners.SetIoCapacity(pages_per_second);
}

Log* BufferPool::log() const { return impl_->core.log; }
SpaceFiles* BufferPool::files() const { return impl_->core.files; }
IoBackend BufferPool::io_backend() const { return impl_->backend; }

PoolStatistics BufferPool::Statistics() const {
  const PoolCore& core = impl_->core;
  PoolStatistics statistics;
  statistics.frames = core.frame_limit.load(std::memory_order_relaxed);
  statistics.free_frames = core.free_list.size();
  statistics.dirty_frames = core.dirty_frames.load(std::memory_order_relaxed);
  statistics.page_versions_bytes = core.versions.MemoryBytes();
  statistics.checkpoint_lsn = impl_->checkpointer.published().value();
  const uint64_t tail = core.log == nullptr ? statistics.checkpoint_lsn : core.LogTail();
  statistics.checkpoint_age_bytes = tail - std::min(tail, statistics.checkpoint_lsn);
  return statistics;
}

}  // namespace rowan
