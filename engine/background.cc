// SPDX-License-Identifier: GPL-2.0-only
#include "engine/background.h"

#include <algorithm>
#include <chrono>
#include <string>
#include <thread>

#include "base/clock.h"
#include "base/work_budget.h"
#include "storage/scrubber.h"

namespace rowan {
namespace {

/// Undo records in one unit of purge or rollback: milliseconds when warm, so workers take turns and
/// check the horizon often.
constexpr uint64_t kRecordsPerUnit = 4096;
/// Longer for rollback: workers that share a transaction meet at the end of a unit.
constexpr uint64_t kRecordsPerRollbackUnit = 65536;
/// Threads at most that roll back: with more they only wait for each other's pages.
constexpr uint32_t kRollbackWorkersMax = 4;
constexpr std::chrono::milliseconds kPurgeTick{20};
constexpr std::chrono::milliseconds kRollbackTick{100};
constexpr std::chrono::milliseconds kHousekeepingTick{1000};
constexpr std::chrono::milliseconds kScrubTick{250};
/// Removing files may take this share of a tick, so many dropped tables go soon, and a huge one
/// does not keep the file system busy.
constexpr std::chrono::milliseconds kTrashTimePerTick{50};

/// Free undo space that the file keeps, so that everyday load makes no holes.
constexpr uint32_t kUndoBytesKept = uint32_t{64} << 20;
/// Holes of 1 MiB made between two looks at the clock.
constexpr uint32_t kExtentsPerStep = 16;
constexpr std::chrono::milliseconds kGiveBackTimePerTick{50};
/// After a failure, which is logged each time.
constexpr uint64_t kGiveBackPauseNanos = 60'000'000'000;

}  // namespace

Status Background::Start() {
  const uint32_t purge_workers = parts_.options->purges ? parts_.options->purge.workers : 0;
  for (uint32_t worker = 0; worker < purge_workers; ++worker) {
    threads_.push_back(std::make_unique<ThreadLoop>("purge-" + std::to_string(worker), kPurgeTick,
                                                    [this, worker] { return PurgeTick(worker); }));
  }
  const uint32_t rollback_workers =
      parts_.options->rolls_back
          ? std::clamp(std::thread::hardware_concurrency(), 1u, kRollbackWorkersMax)
          : 0;
  for (uint32_t worker = 0; worker < rollback_workers; ++worker) {
    // One for rollbacks that fail.
    if (worker != 0 && parts_.txns->LoserCount() == 0) break;
    threads_.push_back(
        std::make_unique<ThreadLoop>("rollback-" + std::to_string(worker), kRollbackTick,
                                     [this, worker] { return RollbackTick(worker); }));
  }
  threads_.push_back(std::make_unique<ThreadLoop>("housekeep", kHousekeepingTick,
                                                  [this] { return HousekeepingTick(); }));
  housekeeping_ = threads_.back().get();
  threads_.push_back(std::make_unique<ThreadLoop>("scrub", kScrubTick, [this] {
    parts_.storage->scrubber()->Step(stopping_);
    return ThreadLoop::Next::kWait;
  }));
  for (const auto& thread : threads_) {
    const Status status = thread->Start();
    if (!status.ok()) return status;
  }
  return Status::Ok();
}

void Background::Stop() {
  stopping_.store(true, std::memory_order_relaxed);
  for (const auto& thread : threads_) thread->Stop();
  housekeeping_ = nullptr;
  threads_.clear();
}

ThreadLoop::Next Background::PurgeTick(uint32_t worker) {
  if (parts_.storage->stopped()) return ThreadLoop::Next::kWait;
  WorkBudget budget(kRecordsPerUnit, &stopping_);
  const Result<bool> more = parts_.txns->PurgeSome(worker, parts_.options->purge.workers, &budget);
  if (worker == 0 && !purge_noted_ && !parts_.txns->HasHistoryOfLastRun()) {
    purge_noted_ = true;
    parts_.orphans->NotePurgeDone().Ignore();  // remaining files are left to the next start
  }
  return more.ok() && more.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

ThreadLoop::Next Background::RollbackTick(uint32_t worker) {
  if (parts_.storage->stopped()) return ThreadLoop::Next::kWait;
  if (worker == 0) parts_.txns->RetryDueRollbacks(MonotonicNanos());
  bool more = false;
  if (parts_.txns->LoserCount() != 0) {
    WorkBudget budget(kRecordsPerRollbackUnit, &stopping_);
    const Result<bool> some = parts_.txns->RollbackSome(&budget);
    more = some.ok() && some.value();
    // The worker that ends the last one reports it. Remaining files are retried at the next start.
    if (some.ok()) NoteRollbackDone();
  }
  if (worker == 0 && RollBackTemporary()) more = true;
  return more ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

void Background::NoteRollbackDone() {
  const bool done = parts_.txns->LoserCount() == 0 && !parts_.txns->RollbacksWait();
  if (done) parts_.orphans->NoteRollbackDone().Ignore();
}

/// Rolls back failed ones of temporary tables; the others are left to their sessions.
bool Background::RollBackTemporary() {
  TxnManager* const txns = parts_.temporary->txns();
  if (txns == nullptr) return false;
  txns->RetryDueRollbacks(MonotonicNanos());
  if (txns->LoserCount() == 0) return false;
  WorkBudget budget(kRecordsPerRollbackUnit, &stopping_);
  const Result<bool> some = txns->RollbackSome(&budget);
  return some.ok() && some.value();
}

void Background::GiveUndoBack(SpaceId undo_space) {
  const auto end = std::chrono::steady_clock::now() + kGiveBackTimePerTick;
  const uint32_t keep_pages = kUndoBytesKept / parts_.options->storage.page_size_bytes;
  if (MonotonicNanos() < give_undo_back_at_nanos_) return;
  while (!stopping_.load(std::memory_order_relaxed)) {
    const Result<uint32_t> made =
        parts_.storage->allocator()->GiveBack(undo_space, keep_pages, kExtentsPerStep);
    if (made.status().Is(Code::kUnsupported)) {  // a file system without holes
      give_undo_back_at_nanos_ = UINT64_MAX;
    } else if (!made.ok()) {
      give_undo_back_at_nanos_ = MonotonicNanos() + kGiveBackPauseNanos;
    }
    if (!made.ok() || made.value() == 0 || std::chrono::steady_clock::now() >= end) return;
  }
}

ThreadLoop::Next Background::HousekeepingTick() {
  if (parts_.storage->stopped()) return ThreadLoop::Next::kWait;
  const auto trash_end = std::chrono::steady_clock::now() + kTrashTimePerTick;
  Result<bool> all_gone = false;
  do {
    all_gone = parts_.storage->files()->RemoveTrash();  // on failure, retry at the next tick
  } while (all_gone.ok() && !all_gone.value() && std::chrono::steady_clock::now() < trash_end);
  GiveUndoBack(kUndoSpace);
  if (parts_.temporary->txns() != nullptr) {
    parts_.temporary->txns()->RefreshHorizon();
    GiveUndoBack(kTemporaryUndoSpace);
  }
  purge_watch_.Look(parts_.txns->DescribePurge(), MonotonicNanos());
  parts_.statistics->RefreshDue([this] { return stopping_.load(std::memory_order_relaxed); });
  if (parts_.storage->pool()->map_memory()->TakeRefused()) parts_.catalog->ForgetUnusedLeafMaps();
  return ThreadLoop::Next::kWait;
}

}  // namespace rowan
