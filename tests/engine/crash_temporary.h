// SPDX-License-Identifier: GPL-2.0-only
// CrashTemporary: the thread of a crash program that has a temporary table, and the model of it.
// It outlives rounds that end without a start. Thread safety: one thread at a time.
#pragma once

#include <memory>

#include "base/random.h"
#include "tests/engine/crash_context.h"

namespace rowan {

class CrashTemporary {
 public:
  explicit CrashTemporary(uint64_t seed) : random_(seed) {}

  /// Thread body: so many transactions, or until something fails.
  void Work(CrashContext* context, uint32_t transactions);
  /// In the process that made it: what is committed is there, and nothing else. Fine without one.
  void ExpectRows();
  /// The table goes; before the engine does.
  void Close(CrashContext* context);
  /// After a start nothing is left of those of earlier runs.
  static void ExpectNoFiles(EngineFixture* world);

 private:
  Status Open(CrashContext* context);
  Status Transaction(CrashContext* context);
  /// One statement; `*rows` is what is there then.
  Status Statement(ToyRows* rows);
  Status Change(Session* part, ToyRows* rows);
  Result<ToyRows> Read();

  Random random_;
  std::unique_ptr<Session> session_;
  std::shared_ptr<Table> table_;
  ToyRows committed_;
};

}  // namespace rowan
