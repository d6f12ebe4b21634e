// SPDX-License-Identifier: GPL-2.0-only
#include "tests/engine/crash_healing.h"

#include <gtest/gtest.h>

#include <chrono>
#include <thread>

#include "engine/engine_impl.h"

namespace rowan {
namespace {

/// Looks, each a twentieth of a second: longer than the longest pause before a failed rollback is
/// tried again, several times over.
constexpr int kLooksMax = 6000;

bool NothingWaits(const Engine& engine) {
  const EngineFigures figures = engine.Figures();
  return engine.Transactions().empty() && figures.failed_rollbacks == 0 &&
         figures.purge.history_length == 0;
}

}  // namespace

Status AwaitHealed(Engine* engine) {
  for (int look = 0; look < kLooksMax && !NothingWaits(*engine) && !engine->stopped(); ++look) {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
  }
  const Status status = engine->impl()->storage->pool()->FlushAndCheckpoint();
  if (engine->stopped()) return status;
  EXPECT_EQ(engine->Transactions().size(), 0U) << "transactions are left";
  EXPECT_EQ(engine->Figures().failed_rollbacks, 0U);
  EXPECT_EQ(engine->Figures().purge.history_length, 0U) << "of what is to be purged";
  EXPECT_TRUE(engine->RowLocks(1).empty()) << "a row is locked";
  return status;
}

}  // namespace rowan
