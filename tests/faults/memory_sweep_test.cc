// SPDX-License-Identifier: GPL-2.0-only
// Memory that runs out anywhere: of each statement the n-th allocation fails, for all n. It ends
// with an error or does without, what it did is undone, the engine goes on, nothing stays held, and
// the same statement succeeds when there is memory again.
#include <gtest/gtest.h>

#include <cstdio>
#include <new>
#include <thread>

#include "tests/faults/refused_memory.h"
#include "tests/faults/swept_statements.h"
#include "tests/support/test_settings.h"

namespace rowan::faults {
namespace {

/// More than any of them asks for.
constexpr uint64_t kAllocationsMax = 20'000;
/// A pool from which no session has to write pages.
constexpr uint32_t kPagesForAll = 512;

struct Outcome {
  Status status;
  bool refused = false;
  bool escaped = false;  ///< the exception left the engine
  bool stopped = false;  ///< the engine, which was started again
};

/// In a thread of its own: what threads keep for later is not there yet.
Outcome RunOnce(Scene* scene, const SweptStatement& statement, uint64_t nth) {
  Outcome outcome;
  std::thread([&] {
    scene->Begin();
    statement.prepare(scene);
  }).join();
  std::thread([&] {
    {
      const RefusedMemory refusal(nth);
      try {
        outcome.status = statement.run(scene);
      } catch (const std::bad_alloc&) {
        outcome.escaped = true;
      }
      outcome.refused = RefusedMemory::refused();
    }
    if (outcome.status.ok() && !outcome.escaped && statement.commits) scene->rows = scene->after;
    const Status ended = scene->End();
    EXPECT_TRUE(ended.ok() || scene->Stopped()) << ended.message();
    const bool cleans_up = outcome.status.ok() && !outcome.escaped && statement.clean_up;
    if (cleans_up) statement.clean_up(scene);
  }).join();
  if (scene->Stopped()) {
    outcome.stopped = true;
    if (!statement.commits) scene->after.clear();
    scene->Restart();
  }
  scene->AwaitRollbacks();
  return outcome;
}

class MemorySweepTest : public testing::TestWithParam<size_t> {};

TEST_P(MemorySweepTest, EachAllocationMayFail) {
  const SweptStatement& statement = SweptStatements()[GetParam()];
  Scene scene(TestSeed());
  uint64_t went_on = 0;
  uint64_t stops = 0;
  uint64_t nth = 1;
  for (; nth < kAllocationsMax; ++nth) {
    SCOPED_TRACE(testing::Message() << statement.name << ", allocation " << nth);
    const Outcome failed = RunOnce(&scene, statement, nth);
    EXPECT_FALSE(failed.escaped);
    if (failed.status.ok()) {
      if (!failed.refused) break;
      ++went_on;
    } else {
      EXPECT_TRUE(failed.refused);
      EXPECT_TRUE(failed.status.Is(Code::kOutOfMemory) || failed.stopped)
          << failed.status.message();
    }
    // Only the writing of pages may not be left half-done: a session's task in a tiny pool.
    if (failed.stopped) ++stops;
    EXPECT_TRUE(!failed.stopped || TestPoolPages() < kPagesForAll);
    scene.Check();
    const Outcome again = RunOnce(&scene, statement, 0);
    EXPECT_TRUE(again.status.ok()) << again.status.message();
    if (HasFailure()) return;
  }
  scene.Check();
  std::printf("%s: %lu allocations failed, %lu of them unnoticed, %lu stopped the engine\n",
              statement.name, nth - 1, went_on, stops);
  EXPECT_LT(nth, kAllocationsMax);
  EXPECT_GT(nth, 1U);
}

INSTANTIATE_TEST_SUITE_P(Statements, MemorySweepTest,
                         testing::Range(size_t{0}, SweptStatements().size()), StatementName);

}  // namespace
}  // namespace rowan::faults
