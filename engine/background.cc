// SPDX-License-Identifier: GPL-2.0-only
// The engine's own background threads: purge workers, rollback of the last run's losers, and house
// keeping (trash files, statistics of changed tables). The buffer pool and the log have theirs.
#include <chrono>

#include "base/logging.h"
#include "engine/engine_impl.h"
#include "engine/statistics.h"

namespace rowan {
namespace {

constexpr std::chrono::milliseconds kPurgeTick{20};
constexpr std::chrono::milliseconds kRollbackTick{100};
constexpr std::chrono::milliseconds kHousekeepingTick{1000};
/// Counting goes on at the next tick behind this: it must not take a core for itself.
constexpr std::chrono::milliseconds kStatisticsTimePerTick{200};
/// Removing files may take this share of a tick, so that many dropped tables are gone soon and one
/// huge one does not keep the file system busy.
constexpr std::chrono::milliseconds kTrashTimePerTick{50};

}  // namespace

void Engine::Impl::StartBackground() {
  pool->StartBackground();
  for (uint32_t worker = 0; worker < options.purge_workers; ++worker) {
    threads.push_back(std::make_unique<ThreadLoop>("purge-" + std::to_string(worker), kPurgeTick,
                                                   [this, worker] { return PurgeTick(worker); }));
  }
  threads.push_back(std::make_unique<ThreadLoop>("rollback", kRollbackTick,
                                                 [this] { return RollbackTick(); }));
  threads.push_back(std::make_unique<ThreadLoop>("housekeep", kHousekeepingTick,
                                                 [this] { return HousekeepingTick(); }));
  housekeeping = threads.back().get();
  for (const auto& thread : threads) thread->Start();
}

void Engine::Impl::StopBackground() {
  for (const auto& thread : threads) thread->Stop();
  housekeeping = nullptr;
  threads.clear();
}

ThreadLoop::Next Engine::Impl::PurgeTick(uint32_t worker) {
  if (stopped.load(std::memory_order_acquire)) return ThreadLoop::Next::kWait;
  if (worker == 0) txns->RefreshHorizon();
  const Result<bool> more = txns->PurgeSome(worker, options.purge_workers);
  return more.ok() && more.value() ? ThreadLoop::Next::kAgain : ThreadLoop::Next::kWait;
}

ThreadLoop::Next Engine::Impl::RollbackTick() {
  if (recovered_done.load(std::memory_order_relaxed) || stopped.load(std::memory_order_acquire)) {
    return ThreadLoop::Next::kWait;
  }
  const Result<bool> more = txns->RollbackOneRecovered();
  if (!more.ok()) return ThreadLoop::Next::kWait;
  if (more.value()) return ThreadLoop::Next::kAgain;
  recovered_done.store(true, std::memory_order_relaxed);
  orphans->NoteRollbackDone().Ignore();  // they stay where they are; tried again at the next start
  return ThreadLoop::Next::kWait;
}

ThreadLoop::Next Engine::Impl::HousekeepingTick() {
  if (stopped.load(std::memory_order_acquire)) return ThreadLoop::Next::kWait;
  const auto trash_end = std::chrono::steady_clock::now() + kTrashTimePerTick;
  Result<bool> all_gone = false;
  do {
    all_gone = files->RemoveTrash();  // a failure: tried again at the next tick
  } while (all_gone.ok() && !all_gone.value() && std::chrono::steady_clock::now() < trash_end);
  RefreshDueStatistics();
  return ThreadLoop::Next::kWait;
}

void Engine::Impl::RefreshDueStatistics() {
  const auto begin = std::chrono::steady_clock::now();
  catalog->RemoveStrayStatistics(txns.get());
  for (const std::shared_ptr<Table>& table : catalog->OpenTables()) {
    if (!RefreshIsDue(table.get(), begin)) continue;
    const uint32_t leaves = table->cardinalities()->settings().sample_leaves;
    // Damage is met by the table's user.
    if (RefreshTableStatistics(allocator.get(), table.get(), leaves).ok()) {
      KeepStatistics(table.get());
    } else {
      table->cardinalities()->NoteFailure();
    }
    // The others: at the next tick, when this one is not due any more.
    if (std::chrono::steady_clock::now() - begin > kStatisticsTimePerTick) break;
  }
}

}  // namespace rowan
