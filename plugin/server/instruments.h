// SPDX-License-Identifier: GPL-2.0-only
// What performance_schema learns of the engine: background threads (thread/rowan/...) and the
// stages of ALTER TABLE with work completed and estimated (stage/rowan/...), large pieces of memory
// (memory/rowan/...), waits for files (file_instruments.h). Whether they are used is known to the
// server.
#pragma once

#include "engine/engine.h"

class THD;

namespace rowan {

/// Before the engine is opened.
void RegisterInstruments();
/// After it is closed.
void ForgetInstruments();

enum class MemoryUse : uint8_t { kBufferPool, kLogBuffer };
/// As much is in use from now on (memory/rowan/...). Not from two threads at a time.
void AccountMemory(MemoryUse use, uint64_t bytes);

/// Shows what the session's long work is at, for as long as it lives, as the statement's stage.
/// Afterwards the former stage is restored. Thread safety: the statement's thread.
class StatementStages : public WorkProgress {
 public:
  StatementStages(THD* thd, Session* session);
  ~StatementStages() override;
  StatementStages(const StatementStages&) = delete;
  StatementStages& operator=(const StatementStages&) = delete;

  void Begin(WorkPhase phase, uint64_t estimated) override;
  void Completed(uint64_t units) override;

 private:
  THD* const thd_;
  Session* const session_;
  const char* former_name_ = nullptr;  ///< of the stage to return to
  unsigned int former_key_ = 0;
  uint64_t estimated_ = 0;
};

}  // namespace rowan
