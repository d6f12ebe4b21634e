// SPDX-License-Identifier: GPL-2.0-only
// Crash simulation. ROWAN_TEST_CRASH_SEEDS sets how many programs run (default 25 here; the test
// driver runs 2000, and with --long as many as its time allows); ROWAN_TEST_SEED is the first seed.
// ROWAN_TEST_CRASH_SECONDS ends the run early, after at least one seed.
#include <gtest/gtest.h>

#include <cstdio>

#include "base/clock.h"
#include "base/counters.h"
#include "tests/engine/crash_program.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

constexpr uint64_t kSeeds = 25;
/// One line of progress for so many seeds.
constexpr uint64_t kSeedsPerLine = 50;

void RunPrograms(uint64_t first, uint64_t count, const CrashProgramSettings& settings) {
  const uint64_t seconds = TestSetting("ROWAN_TEST_CRASH_SECONDS", UINT64_MAX / 1000000000);
  const uint64_t start = MonotonicNanos();
  uint64_t done = 0;
  while (done < count && !::testing::Test::HasFailure() &&
         (done == 0 || MonotonicNanos() - start < seconds * 1000000000)) {
    LogCapture log;
    SCOPED_TRACE(CrashReplayCommand(first + done,
                                    "rowan_engine_test --gtest_filter='CrashProgramTest.*'"));
    CrashProgram(first + done, settings).Run();
    // Nothing here drops a write, so no page may be taken for one that went back.
    EXPECT_EQ(ReadCounter(Counter::kStalePages), 0u) << "a false alarm, seed " << first + done;
    ++done;
    if (::testing::Test::HasFailure()) std::printf("%s", log.Text().c_str());
    if (done % kSeedsPerLine == 0 || done == count) {
      std::printf("crash programs: %llu of %llu\n", static_cast<unsigned long long>(done),
                  static_cast<unsigned long long>(count));
      std::fflush(stdout);
    }
  }
}

TEST(CrashProgramTest, WhatWasAcknowledgedIsThereAfterAnyCrash) {
  RunPrograms(TestSeed(), TestSetting("ROWAN_TEST_CRASH_SEEDS", kSeeds), {});
}

TEST(CrashProgramTest, LongRowsManyThreadsFewTransactions) {
  CrashProgramSettings settings;
  settings.worker.workers = kCrashWorkersMax;
  settings.worker.text_bytes_max = TestPageSizeBytes() / 8;
  settings.transactions = 10;
  settings.rounds = 3;
  settings.ddl = false;
  RunPrograms(TestSeed(), TestSetting("ROWAN_TEST_CRASH_SEEDS", kSeeds) / 10 + 1, settings);
}

}  // namespace
}  // namespace rowan
