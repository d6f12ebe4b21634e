// SPDX-License-Identifier: GPL-2.0-only
// Redoing pages in batches. See redo_worker.h.
#include "buffer/redo_worker.h"

#include <algorithm>
#include <utility>

#include "base/counters.h"
#include "buffer/pool_impl.h"
#include "buffer/redo_use.h"

namespace rowan {
namespace {

/// A page beyond the end of its file was never written: as good as damaged.
Status WithAbsentAsCorrupt(Status status) {
  const bool absent = status.Is(Code::kIoError) && status.detail() == 0;
  return absent ? Status(Code::kCorrupt, "it lies beyond the end of the file") : status;
}

}  // namespace

struct RedoWorker::Impl {
  struct Load {
    Frame* frame = nullptr;
    uint64_t key = 0;
    SpaceFiles::Location location;
  };
  enum class Begun { kDone, kLoading, kLater, kNoFrame };

  Impl(BufferPool* buffer_pool, BufferPool::Impl* pool_impl, uint32_t workers, uint64_t bytes_max)
      : pool(buffer_pool),
        parts(pool_impl),
        core(&pool_impl->core),
        worker_count(workers),
        gathered_bytes_max(bytes_max) {}

  [[nodiscard]] size_t LoadsMax() const;
  Begun Begin(uint64_t key, std::vector<Failure>* failures);
  Begun BeginRead(Frame* frame, uint64_t key);
  void FinishLoads();
  void RedoOne(uint64_t key, std::vector<Failure>* failures);
  Status RedoPage(uint64_t key);

  BufferPool* const pool;
  BufferPool::Impl* const parts;
  PoolCore* const core;
  const uint32_t worker_count;
  const uint64_t gathered_bytes_max;
  std::unique_ptr<RedoPortion> portion;  ///< of the pages of this Run
  std::unique_ptr<WriteBatch> batch;
  std::vector<Load> loads;
  std::vector<uint64_t> later;  ///< one by one, when no frame is held
};

RedoWorker::RedoWorker(BufferPool* pool, uint32_t workers, uint64_t gathered_bytes_max)
    : impl_(std::make_unique<Impl>(pool, pool->impl(), workers, gathered_bytes_max)) {}
RedoWorker::~RedoWorker() = default;

size_t RedoWorker::Impl::LoadsMax() const {
  // All workers together a quarter of a small pool: what they redid must find room beside it.
  const uint32_t frames = core->frame_limit.load(std::memory_order_relaxed);
  return std::clamp<size_t>(frames / 4 / worker_count, 1, kBatchPages);
}

Status RedoWorker::Run(std::span<const uint64_t> pages, std::vector<Failure>* failures) {
  Impl& impl = *impl_;
  if (impl.batch == nullptr) {
    Result<std::unique_ptr<WriteBatch>> made =
        MakeWriteBatch(impl.core->file_system, impl.core->options.io_backend, kBatchPages, nullptr);
    if (!made.ok()) return made.status();
    impl.batch = std::move(made).value();
  }
  impl.portion.reset();  // its memory first
  Result<std::unique_ptr<RedoPortion>> portion =
      RedoUse(impl.core).Gather(pages, impl.gathered_bytes_max);
  if (!portion.ok()) return portion.status();
  impl.portion = std::move(portion).value();
  const size_t loads_max = impl.LoadsMax();
  for (size_t next = 0; next < pages.size();) {
    while (next < pages.size() && impl.loads.size() < loads_max) {
      const Impl::Begun begun = impl.Begin(pages[next], failures);
      if (begun == Impl::Begun::kNoFrame && !impl.loads.empty()) break;
      if (begun == Impl::Begun::kNoFrame || begun == Impl::Begun::kLater) {
        impl.later.push_back(pages[next]);
      }
      ++next;
      if (begun == Impl::Begun::kNoFrame) break;
    }
    impl.FinishLoads();
    for (const uint64_t key : impl.later) impl.RedoOne(key, failures);
    impl.later.clear();
    if (impl.core->Stopped()) return Status(Code::kStopped, "the log is stopped");
  }
  return Status::Ok();
}

RedoWorker::Impl::Begun RedoWorker::Impl::Begin(uint64_t key, std::vector<Failure>* failures) {
  const RedoUse use(core);
  RedoBacklog::Page* page = use.Find(key);
  if (page == nullptr) return Begun::kDone;
  if (!core->files->IsLive(PageId::Unpack(key).space)) {
    failures->push_back({key, Status(Code::kNotFound, "the tablespace does not exist")});
    return Begun::kDone;
  }
  if (core->Lookup(key) != PageTable::kNone) return Begun::kLater;
  Frame* frame = parts->supply.TryTake();
  if (frame == nullptr) return Begun::kNoFrame;
  if (core->Publish(frame, key) != PageTable::kNone) {
    core->Free(frame);
    return Begun::kLater;
  }
  page = use.Find(key);  // the page may have been here and gone in between
  if (page != nullptr && !use.MakesAnew(*page)) return BeginRead(frame, key);
  if (page == nullptr) {
    core->Drop(frame);
    return Begun::kDone;
  }
  if (!use.Apply(page, frame, true, portion.get()).ok()) {
    core->Drop(frame);
    return Begun::kLater;
  }
  parts->EndLoad(frame, kUsageScan);
  frame->latch.UnlockExclusive();
  return Begun::kDone;
}

RedoWorker::Impl::Begun RedoWorker::Impl::BeginRead(Frame* frame, uint64_t key) {
  Result<SpaceFiles::Location> location =
      core->files->Locate(PageId::Unpack(key), SpaceFiles::Use::kRead);
  if (!location.ok()) {
    core->Drop(frame);
    return Begun::kLater;
  }
  loads.push_back({frame, key, std::move(location).value()});
  return Begun::kLoading;
}

void RedoWorker::Impl::FinishLoads() {
  if (loads.empty()) return;
  bool all_read = true;
  for (const Load& load : loads) {
    const Status status =
        batch->SubmitRead(load.location.file.get(), load.location.offset, core->PageOf(load.frame));
    all_read = all_read && status.ok();
  }
  // Which read failed is not known: after a failure each page is read by itself.
  all_read = batch->WaitAll().ok() && all_read;
  const RedoUse use(core);
  for (Load& load : loads) {
    RedoBacklog::Page* page = use.Find(load.key);
    const PageId id = PageId::Unpack(load.key);
    if (!all_read || page == nullptr || !core->Judge(core->PageOf(load.frame), id).empty() ||
        !use.Apply(page, load.frame, false, portion.get()).ok()) {
      core->Drop(load.frame);
      later.push_back(load.key);
      continue;
    }
    AddCounter(Counter::kPagesRead);
    parts->EndLoad(load.frame, kUsageScan);
    load.frame->latch.UnlockExclusive();
  }
  loads.clear();
}

void RedoWorker::Impl::RedoOne(uint64_t key, std::vector<Failure>* failures) {
  const Status status = WithAbsentAsCorrupt(RedoPage(key));
  if (!status.ok()) failures->push_back({key, status});
}

Status RedoWorker::Impl::RedoPage(uint64_t key) {
  // Bringing the page in applies its records, unless it is here from an earlier stretch of the log.
  Result<PageGuard> guard =
      pool->Fix(PageId::Unpack(key), LatchMode::kExclusive, FixHint::kSpeculative);
  if (!guard.ok()) return guard.status();
  const RedoUse use(core);
  RedoBacklog::Page* page = use.Find(key);
  if (page == nullptr) return Status::Ok();
  const Status status = use.Apply(page, guard->frame(), use.MakesAnew(*page), portion.get());
  // Half of a group must not reach the disk: under its LSN it would look whole to the next start.
  if (!status.ok()) pool->Discard(std::move(guard).value());
  return status;
}

}  // namespace rowan
