// SPDX-License-Identifier: GPL-2.0-only
// What the threads of one crash program share: the world, whether something may fail by now, and
// the sessions to be woken when the engine stops. Thread-safe but for Reset.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <mutex>
#include <utility>
#include <vector>

#include "tests/engine/engine_fixture.h"

namespace rowan {

/// What a rollback undoes.
enum class RollbackOf : uint8_t { kRows, kDdl };

class CrashContext {
 public:
  explicit CrashContext(EngineFixture* world) : world_(world) {}

  [[nodiscard]] EngineFixture* world() const { return world_; }
  [[nodiscard]] Engine* engine() const { return world_->engine.get(); }
  [[nodiscard]] Lsn LogTail() const { return engine()->impl()->storage->log()->tail(); }
  /// Before a round: `faults` tells whether calls are made to fail in it.
  void Reset(bool faults) {
    faults_.store(faults);
    rollback_faults_.clear();
  }
  /// Calls are made to fail once the `nth` rollback of that kind is about to begin.
  void InjectInRollback(RollbackOf of, uint32_t nth, InjectedFault fault) {
    rollback_faults_.push_back({of, nth, std::move(fault)});
  }
  /// Rolls the session back, with the faults that wait for it.
  Status Rollback(Session* session, RollbackOf of) {
    {
      const std::lock_guard lock(mutex_);
      std::erase_if(rollback_faults_, [&](RollbackFault& waiting) {
        if (waiting.of != of || --waiting.nth > 0) return false;
        world_->files.Inject(waiting.fault);
        return true;
      });
    }
    return session->Rollback();
  }
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
  struct RollbackFault {
    RollbackOf of;
    uint32_t nth;
    InjectedFault fault;
  };

  EngineFixture* const world_;
  std::atomic<bool> faults_{false};
  std::mutex mutex_;
  std::vector<Session*> sessions_;  // guarded by mutex_, as what follows
  std::vector<RollbackFault> rollback_faults_;
};

/// How the last round ended: what may be lost follows from it.
enum class CrashKind {
  kPower,    ///< commits that were not waited for may be lost
  kProcess,  ///< only what never left the process: level 0
  kClean,    ///< nothing
  kHealed,   ///< nothing: calls failed for a time, and the process goes on
};

}  // namespace rowan
