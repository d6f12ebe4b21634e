// SPDX-License-Identifier: GPL-2.0-only
// Crash programs (tests/engine/crash_program.h) whose threads take turns as the seed says, so that
// a seed that fails fails every time. crash_seeds.h tells which seeds; ROWAN_TEST_DIGESTS prints
// what tells one run from another.
#include <gtest/gtest.h>

#include <cstdio>

#include "tests/engine/crash_program.h"
#include "tests/engine/crash_seeds.h"
#include "tests/simulation/isolated_run.h"
#include "tests/simulation/scheduler.h"
#include "tests/support/log_capture.h"

namespace rowan {
namespace {

using simulation::IsolatedRun;
using simulation::Scheduler;
using simulation::SchedulerOptions;

SchedulerOptions ScheduleOf(uint64_t seed) {
  // From threads that meet at every step to threads that run long stretches alone.
  constexpr uint32_t kSwitchOneIn[] = {4, 16, 64, 256};
  return {.seed = seed, .switch_one_in = kSwitchOneIn[seed % std::size(kSwitchOneIn)]};
}

IsolatedRun RunProgram(uint64_t seed, const CrashProgramSettings& settings) {
  return simulation::RunIsolated(seed, [seed, &settings] {
    LogCapture log;
    const uint64_t digest = Scheduler::Run(ScheduleOf(seed), [seed, &settings] {
      CrashProgram program(seed, settings);
      program.Run();
      Scheduler::Current()->Record(program.DigestOfFiles());
    });
    if (::testing::Test::HasFailure()) std::printf("%s", log.Text().c_str());
    return digest;
  });
}

void RunPrograms(uint64_t count, const CrashProgramSettings& settings) {
  ForEachCrashSeed(count, [&settings](uint64_t seed) {
    const IsolatedRun run = RunProgram(seed, settings);
    EXPECT_TRUE(run.passed) << "crash program: " << run.ending << "; "
                            << CrashReplayCommand(seed, "rowan_simulation_test");
    if (TestSetting("ROWAN_TEST_DIGESTS", 0) == 0) return;
    std::printf("seed %llu: digest %016llx\n", static_cast<unsigned long long>(seed),
                static_cast<unsigned long long>(run.digest));
  });
}

TEST(CrashSimulationTest, WhatWasAcknowledgedIsThereAfterAnyCrash) {
  RunPrograms(CrashSeeds(), {});
}

TEST(CrashSimulationTest, NothingIsLostWhenTheServerGoesOnAfterAFailedSync) {
  CrashProgramSettings settings;
  settings.rounds = 4;
  settings.transactions = 8;
  settings.failed_syncs = true;
  RunPrograms(CrashSeeds() / 4 + 1, settings);
}

TEST(CrashSimulationTest, ASeedReplaysExactly) {
  constexpr uint64_t kReplayed = 8;
  uint64_t last_digest = 0;
  for (uint64_t seed = TestSeed(); seed < TestSeed() + kReplayed; ++seed) {
    const IsolatedRun once = RunProgram(seed, {});
    const IsolatedRun again = RunProgram(seed, {});
    ASSERT_TRUE(once.passed && again.passed) << once.ending << again.ending << seed;
    EXPECT_EQ(once.digest, again.digest) << "seed " << seed;
    EXPECT_NE(once.digest, last_digest) << "the digest does not tell seeds apart";
    last_digest = once.digest;
  }
}

}  // namespace
}  // namespace rowan

int main(int count, char** arguments) {
  rowan::simulation::FixAddresses(arguments);
  ::testing::InitGoogleTest(&count, arguments);
  return RUN_ALL_TESTS();
}
