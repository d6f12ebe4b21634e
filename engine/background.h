// SPDX-License-Identifier: GPL-2.0-only
// Background: the engine's own threads: purge workers, rollback of the last run's losers and of
// what sessions left unfinished, housekeeping (trash files, holes in the undo file, statistics of
// changed tables), and scrubbing. The buffer pool, the log and the storage have theirs.
// Purge and rollback work in units of undo records, not of transactions, and check `stopping_`
// before each record: closing never waits for a whole transaction.
// Thread safety: Start and Stop by the owner, WakeHousekeeping from any thread in between.
#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <vector>

#include "base/ids.h"
#include "base/thread_loop.h"
#include "engine/catalog/catalog.h"
#include "engine/catalog/orphan_files.h"
#include "engine/catalog/temporary_tables.h"
#include "engine/options.h"
#include "engine/report/purge_watch.h"
#include "engine/statistics/statistics_keeper.h"
#include "mvcc/txn_manager.h"
#include "storage/storage.h"

namespace rowan {

class Background {
 public:
  /// The parts it works on; they outlive it.
  struct Parts {
    const EngineOptions* options = nullptr;
    Storage* storage = nullptr;
    TxnManager* txns = nullptr;
    TemporaryTables* temporary = nullptr;
    OrphanFiles* orphans = nullptr;
    StatisticsKeeper* statistics = nullptr;
    Catalog* catalog = nullptr;
  };
  explicit Background(Parts parts)
      : parts_(parts), purge_watch_(parts.options->statement_of_thread) {}
  ~Background() { Stop(); }

  /// As ThreadLoop::Start. After a failure some threads run, until Stop.
  Status Start();
  /// Work stops where it is.
  void Stop();
  /// No effect while not started.
  void WakeHousekeeping() {
    if (housekeeping_ != nullptr) housekeeping_->Wake();
  }

 private:
  ThreadLoop::Next PurgeTick(uint32_t worker);
  ThreadLoop::Next RollbackTick(uint32_t worker);
  void NoteRollbackDone();
  bool RollBackTemporary();
  ThreadLoop::Next HousekeepingTick();
  void GiveUndoBack(SpaceId undo_space);

  const Parts parts_;
  std::atomic<bool> stopping_{false};
  bool purge_noted_ = false;  // owned by the first purge worker
  // Owned by housekeeping.
  PurgeWatch purge_watch_;
  uint64_t give_undo_back_at_nanos_ = 0;  // not before; MonotonicNanos
  std::vector<std::unique_ptr<ThreadLoop>> threads_;
  ThreadLoop* housekeeping_ = nullptr;  // one of them
};

}  // namespace rowan
