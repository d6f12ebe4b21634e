// SPDX-License-Identifier: GPL-2.0-only
// The engine's own background threads: purge workers, rollback of the last run's losers, and house
// keeping (trash files, statistics of changed tables). The buffer pool and the log have theirs.
// Purge and rollback work in units of undo records, not of transactions, and look at `stopping`
// before each record: closing never waits for a transaction to be through.
#include <algorithm>
#include <chrono>
#include <thread>

#include "base/logging.h"
#include "engine/engine_impl.h"
#include "engine/statistics.h"

namespace rowan {
namespace {

/// Undo records in one unit of purge or rollback: milliseconds when warm, so that workers take
/// turns and look at the horizon often.
constexpr uint64_t kRecordsPerUnit = 4096;
/// Losers that are rolled back at the same time, at most: they wait for each other's pages only.
constexpr uint32_t kRollbackWorkersMax = 4;
constexpr std::chrono::milliseconds kPurgeTick{20};
constexpr std::chrono::milliseconds kRollbackTick{100};
constexpr std::chrono::milliseconds kHousekeepingTick{1000};
/// Counting goes on at the next tick behind this: it must not take a core for itself.
constexpr std::chrono::milliseconds kStatisticsTimePerTick{200};
/// Removing files may take this share of a tick, so that many dropped tables are gone soon and one
/// huge one does not keep the file system busy.
constexpr std::chrono::milliseconds kTrashTimePerTick{50};

/// Free undo space that stays with the file, so that everyday traffic makes no holes.
constexpr uint32_t kUndoBytesKept = uint32_t{64} << 20;
/// Holes of 1 MiB made before the clock is looked at.
constexpr uint32_t kExtentsPerStep = 16;
constexpr std::chrono::milliseconds kGiveBackTimePerTick{50};

}  // namespace

void Engine::Impl::StartBackground() {
  storage->StartBackground();
  for (uint32_t worker = 0; worker < options.purge.workers; ++worker) {
    threads.push_back(std::make_unique<ThreadLoop>("purge-" + std::to_string(worker), kPurgeTick,
                                                   [this, worker] { return PurgeTick(worker); }));
  }
  const uint32_t rollback_workers =
      std::clamp(std::thread::hardware_concurrency(), 1u, kRollbackWorkersMax);
  for (uint32_t worker = 0; worker < rollback_workers; ++worker) {
    // One for rollbacks that fail until redo is through.
    if (txns->LoserCount() == 0 && (worker != 0 || !storage->redoing())) break;
    threads.push_back(std::make_unique<ThreadLoop>(
        "rollback-" + std::to_string(worker), kRollbackTick, [this] { return RollbackTick(); }));
  }
  threads.push_back(std::make_unique<ThreadLoop>("housekeep", kHousekeepingTick,
                                                 [this] { return HousekeepingTick(); }));
  housekeeping = threads.back().get();
  for (const auto& thread : threads) thread->Start();
}

void Engine::Impl::StopBackground() {
  stopping.store(true, std::memory_order_relaxed);
  for (const auto& thread : threads) thread->Stop();
  housekeeping = nullptr;
  threads.clear();
}

ThreadLoop::Next Engine::Impl::PurgeTick(uint32_t worker) {
  if (storage->stopped()) return ThreadLoop::Next::kWait;
  WorkBudget budget(kRecordsPerUnit, &stopping);
  const Result<bool> more = txns->PurgeSome(worker, options.purge.workers, &budget);
  return more.ok() && more.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

ThreadLoop::Next Engine::Impl::RollbackTick() {
  if (txns->LoserCount() == 0 || storage->stopped()) {
    return ThreadLoop::Next::kWait;
  }
  WorkBudget budget(kRecordsPerUnit, &stopping);
  const Result<bool> more = txns->RollbackSome(&budget);
  if (!more.ok()) return ThreadLoop::Next::kWait;
  // Whoever ended the last one says so. Files that stay all the same are tried again at the next
  // start.
  if (txns->LoserCount() == 0) orphans->NoteRollbackDone().Ignore();
  return more.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

void Engine::Impl::GiveUndoBack(SpaceId undo_space) {
  const auto end = std::chrono::steady_clock::now() + kGiveBackTimePerTick;
  const uint32_t keep_pages = kUndoBytesKept / options.storage.page_size_bytes;
  while (gives_undo_back && !stopping.load(std::memory_order_relaxed)) {
    const Result<uint32_t> made =
        storage->allocator()->GiveBack(undo_space, keep_pages, kExtentsPerStep);
    // A file system without holes, or a failure that its finder logged.
    if (!made.ok()) gives_undo_back = false;
    if (!made.ok() || made.value() == 0 || std::chrono::steady_clock::now() >= end) return;
  }
}

ThreadLoop::Next Engine::Impl::HousekeepingTick() {
  if (storage->stopped()) return ThreadLoop::Next::kWait;
  const auto trash_end = std::chrono::steady_clock::now() + kTrashTimePerTick;
  Result<bool> all_gone = false;
  do {
    all_gone = storage->files()->RemoveTrash();  // a failure: tried again at the next tick
  } while (all_gone.ok() && !all_gone.value() && std::chrono::steady_clock::now() < trash_end);
  GiveUndoBack(kUndoSpace);
  if (temporary->txns() != nullptr) {
    temporary->txns()->RefreshHorizon();
    GiveUndoBack(kTemporaryUndoSpace);
  }
  RefreshDueStatistics();
  return ThreadLoop::Next::kWait;
}

void Engine::Impl::RefreshDueStatistics() {
  const auto begin = std::chrono::steady_clock::now();
  catalog->RemoveStrayStatistics(txns.get());
  std::vector<std::shared_ptr<Table>> tables = catalog->OpenTables();
  const std::vector<std::shared_ptr<Table>> temporary_tables = temporary->All();
  tables.insert(tables.end(), temporary_tables.begin(), temporary_tables.end());
  for (const std::shared_ptr<Table>& table : tables) {
    if (!RefreshIsDue(table.get(), begin)) continue;
    const uint32_t leaves = table->cardinalities()->settings().sample_leaves;
    // Damage is met by the table's user.
    if (RefreshTableStatistics(storage->allocator(), table.get(), leaves).ok()) {
      KeepStatistics(table.get());
    } else {
      table->cardinalities()->NoteFailure();
    }
    // The others: at the next tick, when this one is not due any more.
    if (std::chrono::steady_clock::now() - begin > kStatisticsTimePerTick) break;
  }
}

}  // namespace rowan
