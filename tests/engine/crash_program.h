// SPDX-License-Identifier: GPL-2.0-only
// CrashProgram: a random multi-threaded program against the engine (writers, DDL, maintenance), an
// end chosen by the seed in the midst of it, recovery, a check of every structure, and the
// comparison with models that know which commits were acknowledged and how.
//
// A round ends in one of these ways; the seed decides which:
//   power    the power goes at a random change: in work, a checkpoint, recycling, DDL, purge
//   process  the process vanishes: everything written stays, nothing is flushed
//   faults   calls fail with EIO or ENOSPC, at once or half-way, a sync fails, once or from then
//            on; the engine stops or reports; then the power goes, or only the process
//   clean    a shutdown
//   healing  calls fail as above; then they do not any more, and the same process goes on: nobody
//            is locked, nothing waits, all is as after a shutdown. Only an engine that had to stop
//            is started again
// Recovery is cut short or meets faults of its own before it may run to the end, in the work done
// while it is redoing, too.
//
// Some programs make backups meanwhile, full ones and chains of incremental ones across the rounds;
// each that was finished before the end of its round is restored and compared with the models, too.
// What else only some programs do: crash_variations.h.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <vector>

#include "base/random.h"
#include "tests/engine/crash_backups.h"
#include "tests/engine/crash_context.h"
#include "tests/engine/crash_ddl.h"
#include "tests/engine/crash_temporary.h"
#include "tests/engine/crash_variations.h"
#include "tests/engine/crash_worker.h"

namespace rowan {

struct CrashProgramSettings {
  CrashWorkerSettings worker;
  uint32_t transactions = 16;  ///< per worker and round
  uint32_t rounds = 2;
  bool ddl = true;
  /// Every other round ends in a failed sync and a start with the power on, the next in a cut.
  bool failed_syncs = false;
  /// Of each round, beside its other work; 0: the program decides by its seed.
  uint32_t backups = 0;
  /// Transactions that fill extents with undo; the program decides by its seed.
  bool huge_undo = false;
};

class CrashProgram {
 public:
  CrashProgram(uint64_t seed, const CrashProgramSettings& settings);
  /// Runs all rounds; failures are test failures.
  void Run();
  /// Of everything on the simulated disk.
  [[nodiscard]] uint64_t DigestOfFiles() const { return world_.files.Digest(); }
  /// Backups that were restored and compared.
  [[nodiscard]] uint64_t copies_checked() const { return copies_checked_; }

 private:
  enum class Ending { kPower, kProcess, kFaults, kFailedSync, kClean, kHealing };

  /// Pages, and the log too perhaps, go through simulated queues of requests.
  void DoAsynchronousRequests();
  void CreateTables();
  void Round(uint32_t round);
  Ending PrepareEnding(uint32_t round);
  Ending PrepareFaults(uint32_t calls_max);
  void InjectFaults(uint32_t calls_max);
  void InjectFaultsInRollback();
  void RunThreads(Table* table);
  void Maintain(Table* table);
  /// Gives free undo space back to the simulated disk.
  Status MakeHoles();
  CrashKind End(Ending ending);
  /// The faults are over, and the process goes on if it may.
  CrashKind Heal();
  /// The disk with the placed files goes away, or comes back.
  void MountOrUnmount(Random* random);
  /// How the next start redoes.
  void ChooseRedo();
  /// Returns how often the power went before the start that got through.
  uint64_t ReopenThroughCrashes();
  /// While redo and rollback may still go on: reads, and rows that come and are rolled back, so
  /// that the models need not know. With a power cut or a fault under way it ends early.
  void WorkAtOnce();
  /// As coordinator: commits what was decided, rolls back the rest.
  Status ResolvePrepared();
  void WaitForRollback();
  void WaitForPurge();
  /// Makes holes of what recovery and purge have left free; the first of them fails.
  void CheckHoles();
  void Compare(CrashKind kind);
  /// Restores what was backed up in the round, and compares it with the models of its end.
  void CheckBackups();
  void CheckCopy(Lsn end);
  void ExpectNoStalePage() const;

  const uint64_t seed_;
  const uint64_t stale_before_;
  Random random_;
  Random variation_random_;
  const CrashVariations variations_;
  const CrashProgramSettings settings_;
  EngineFixture world_;
  CrashContext context_;
  TableId table_;
  std::vector<CrashWorker> workers_;
  CrashDdl ddl_;
  CrashBackups backups_;
  CrashTemporary temporary_;
  bool may_stop_ = false;  ///< of the round: a call was made to fail that stops the engine
  bool mounted_ = true;
  uint64_t copies_made_ = 0;
  uint64_t copies_checked_ = 0;
  std::atomic<bool> working_{false};
};

}  // namespace rowan
