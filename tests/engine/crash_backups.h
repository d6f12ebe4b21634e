// SPDX-License-Identifier: GPL-2.0-only
// CrashBackups: the thread of a crash program that makes backups while the others work, full ones
// and incremental ones, also onto those of rounds before.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "base/random.h"
#include "tests/engine/backup_copies.h"
#include "tests/engine/crash_context.h"

namespace rowan {

class CrashBackups {
 public:
  CrashBackups(uint64_t seed, uint32_t backups_max) : random_(seed), backups_max_(backups_max) {}

  [[nodiscard]] bool wanted() const { return backups_max_ != 0; }
  /// Thread body: one backup after the other while `working`, but at least one unless something
  /// fails.
  void Work(CrashContext* context, const std::atomic<bool>& working);

  struct Finished {
    std::vector<std::string> chain;  ///< folders: a full one, and incremental ones up to this one
    Lsn end;
  };
  /// Those of the round that is over.
  [[nodiscard]] std::vector<Finished> TakeFinished() { return std::exchange(finished_, {}); }

 private:
  Status Make(CrashContext* context);

  Random random_;
  const uint32_t backups_max_;  ///< of a round
  uint32_t next_folder_ = 0;
  std::vector<std::string> chain_;  ///< the newest one that was finished
  std::vector<Finished> finished_;
};

}  // namespace rowan
