// SPDX-License-Identifier: GPL-2.0-only
// What the threads of one crash program share: the world, whether something may fail by now, and
// the sessions to be woken when the engine stops. Thread-safe but for Reset.
#pragma once

#include <algorithm>
#include <atomic>
#include <mutex>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace rowan {

class CrashContext {
 public:
  explicit CrashContext(EngineFixture* world) : world_(world) {}

  [[nodiscard]] EngineFixture* world() const { return world_; }
  [[nodiscard]] Engine* engine() const { return world_->engine.get(); }
  [[nodiscard]] Lsn LogTail() const { return engine()->impl()->storage->log()->tail(); }
  /// Before a round: `faults` tells whether calls are made to fail in it.
  void Reset(bool faults) { faults_.store(faults); }
  /// An error is allowed: the power went, or a call was made to fail.
  [[nodiscard]] bool MayFail() const { return faults_.load() || world_->files.powered_off(); }
  /// No more work can be done in this round. Ends the lock waits of all others.
  [[nodiscard]] bool Over() {
    if (!world_->files.powered_off() && !engine()->stopped()) return false;
    const std::lock_guard lock(mutex_);
    for (Session* session : sessions_) session->Interrupt();
    return true;
  }
  void Enlist(Session* session) {
    const std::lock_guard lock(mutex_);
    sessions_.push_back(session);
  }
  void Leave(Session* session) {
    const std::lock_guard lock(mutex_);
    std::erase(sessions_, session);
  }

 private:
  EngineFixture* const world_;
  std::atomic<bool> faults_{false};
  std::mutex mutex_;
  std::vector<Session*> sessions_;  // guarded by mutex_
};

/// How the last round ended: what may be lost follows from it.
enum class CrashKind {
  kPower,    ///< commits that were not waited for may be lost
  kProcess,  ///< only what never left the process: level 0
  kClean,    ///< nothing
};

}  // namespace rowan
