// SPDX-License-Identifier: GPL-2.0-only
// What performance_schema learns about the engine: background threads (thread/rowan/...), the
// stages of ALTER TABLE with work completed and estimated (stage/rowan/...), large pieces of memory
// (memory/rowan/...) and file waits (file_instruments.h). The server knows whether they are
// enabled.
#pragma once

#include "engine/engine.h"

class THD;

namespace rowan {

/// Call before the engine is opened.
void RegisterInstruments();
/// Call after it is closed.
void ForgetInstruments();

enum class MemoryUse : uint8_t { kBufferPool, kLogBuffer };
/// `bytes` are in use from now on (memory/rowan/...). Not from two threads at a time.
void AccountMemory(MemoryUse use, uint64_t bytes);

/// While it lives, shows the progress of the session's long work as the statement's stage;
/// afterwards restores the former stage. Thread safety: the statement's thread.
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
